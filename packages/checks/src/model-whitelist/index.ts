import { type Check, CheckParameterError } from "../define.ts";
import { readFlag } from "../parameters.ts";

const MAX_MODELS = 1_000;
const MAX_MODEL_LENGTH = 500;
/** Models of the list that are named in `data`. */
const MAX_SHOWN = 100;

/**
 * Whether the body's model is one of a list, compared exactly; `not` (also written `inverse`) turns the list into one of
 * models that are refused (behaviour 7.3). A request without a model is an error.
 */
const modelWhitelist: Check = {
  id: "default.modelWhitelist",
  phases: ["before"],
  prepare(parameters) {
    const models = readModels(parameters["models"]);
    const not = parameters["not"] === undefined ? readFlag("inverse", parameters["inverse"]) : readFlag("not", parameters["not"]);
    const shown = [...models].slice(0, MAX_SHOWN);
    return ({ request, model: named }) => {
      const model = typeof request["model"] === "string" ? request["model"] : named;
      if (model === "") throw new Error("the request names no model");
      const verdict = models.has(model) !== not;
      const requestedModel = model.slice(0, MAX_MODEL_LENGTH);
      const explanation = verdict ? "The model is allowed." : "The model is not allowed.";
      return { verdict, data: { explanation, requestedModel, not, models: shown } };
    };
  },
};

export default modelWhitelist;

function readModels(value: unknown): ReadonlySet<string> {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_MODELS || !value.every(isModel)) {
    throw new CheckParameterError("models", `an array of 1 to ${MAX_MODELS} model names of 1 to ${MAX_MODEL_LENGTH} characters`);
  }
  return new Set(value);
}

function isModel(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MAX_MODEL_LENGTH;
}
