import type { Check } from "../define.ts";
import { readFlag } from "../parameters.ts";
import { Budget } from "./budget.ts";
import { findJson } from "./find-json.ts";
import { readSchema } from "./read-schema.ts";
import type { SchemaError } from "./site.ts";
import { schemaErrors } from "./validate.ts";

/**
 * Whether some JSON in the answer's text is valid under a schema of draft 2020-12; `not` turns it round (behaviour 7.3).
 * Without JSON in the text the verdict is false either way. JSON of more than 200 levels counts as none.
 */
const jsonSchema: Check = {
  id: "default.jsonSchema",
  phases: ["after"],
  prepare(parameters) {
    const schema = readSchema(parameters["schema"]);
    const not = readFlag("not", parameters["not"]);
    return ({ text }) => {
      const candidates = findJson(text);
      let validationErrors: readonly SchemaError[] = [];
      if (candidates.length === 0) return { verdict: false, data: { explanation: "There is no JSON in the text.", not, validationErrors } };
      let fits = false;
      const budget = new Budget();
      for (const candidate of candidates) {
        const errors = schemaErrors(schema, candidate, budget);
        fits = errors.length === 0;
        validationErrors = errors;
        if (fits) break;
      }
      const explanation = fits ? "JSON in the text is valid under the schema." : "No JSON in the text is valid under the schema.";
      return { verdict: fits !== not, data: { explanation, not, validationErrors } };
    };
  },
};

export default jsonSchema;
