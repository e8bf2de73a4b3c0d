import type { PolicyCondition } from "../resources.ts";
import { contextValue, type PolicyContext } from "./context.ts";

/** Whether a request is as a condition says. */
export type ConditionTest = (context: PolicyContext) => boolean;

const ANY = "*";
const ALL_BELOW = "/*";

/** Makes the test of a condition. A request without a value passes none, whether the condition excludes or not. */
export function compileCondition({ key, value, excludes }: PolicyCondition): ConditionTest {
  const values = typeof value === "string" ? [value] : value;
  const isOneOf = values.includes(ANY) ? () => true : key === "model" ? oneOfModels(values) : oneOf(values);
  return (context) => {
    const found = contextValue(context, key);
    return found !== "" && isOneOf(found) !== excludes;
  };
}

function oneOf(values: readonly string[]): (found: string) => boolean {
  const set = new Set(values);
  return (found) => set.has(found);
}

/** `found` is "@slug/model". What is written without "@" is a model of any provider. */
function oneOfModels(values: readonly string[]): (found: string) => boolean {
  const exact = new Set(values.filter((value) => !value.endsWith(ALL_BELOW)));
  const prefixes = values.filter((value) => value.endsWith(ALL_BELOW)).map((value) => value.slice(0, -1));
  return (found) => {
    const bare = found.slice(found.indexOf("/") + 1);
    if (exact.has(found) || exact.has(bare)) return true;
    return prefixes.some((prefix) => (prefix.startsWith("@") ? found : bare).startsWith(prefix));
  };
}
