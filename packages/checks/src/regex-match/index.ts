import { type Check, CheckParameterError } from "../define.ts";
import { createPattern } from "../pattern.ts";

/** Whether a pattern matches somewhere in the text; `not` turns it round (behaviour 7.3). An empty text is an error. */
const regexMatch: Check = {
  id: "default.regexMatch",
  phases: ["before", "after"],
  prepare(parameters) {
    const { rule, not = false } = parameters;
    if (typeof rule !== "string" || rule === "") throw new CheckParameterError("rule", "a pattern, plain or as /pattern/flags");
    if (typeof not !== "boolean") throw new CheckParameterError("not", "true or false");
    const pattern = createPattern("rule", rule);
    return ({ text }) => {
      if (text === "") throw new Error("there is no text to check");
      const matches = pattern.matches(text);
      const explanation = matches ? "The pattern matches the text." : "The pattern does not match the text.";
      return { verdict: matches !== not, data: { explanation, regexPattern: rule, not } };
    };
  },
};

export default regexMatch;
