import { isObject, type JsonObject } from "@unigate/core";

/** A choice of planning as the decision tells it; the router's come as JSON. */
export interface ToldChoice {
  readonly at: string;
  readonly mode: string;
  readonly choice: JsonObject;
}

export function toldChoices(decision: JsonObject): ToldChoice[] {
  const { choices } = decision;
  if (!Array.isArray(choices)) return [];
  return choices.filter(isObject).map((choice) => ({ at: String(choice["at"]), mode: String(choice["mode"]), choice }));
}

/** Why the plan has no place for a target: the choice nearest to the root that led elsewhere. */
export function whyNotTaken(optionPath: string, choices: readonly ToldChoice[]): string {
  for (const { at, mode, choice } of choices) {
    const branch = branchBelow(optionPath, at);
    if (branch === null) continue;
    if (Array.isArray(choice["open"]) && choice["bypassed"] !== true && choice["open"].includes(branch))
      return `the circuit breaker of ${at}.targets[${branch}] is open`;
    const { chosen } = choice;
    if (typeof chosen === "number" && chosen !== branch) return reasonOf(at, mode, branch, choice);
  }
  return "its strategy takes the first of its targets only";
}

/** The target of the node at `at` that `optionPath` goes through; null when it is not below. */
function branchBelow(optionPath: string, at: string): number | null {
  if (!optionPath.startsWith(`${at}.targets[`)) return null;
  return Number.parseInt(optionPath.slice(at.length + ".targets[".length), 10);
}

function reasonOf(at: string, mode: string, branch: number, choice: JsonObject): string {
  const taken = `${at}.targets[${String(choice["chosen"])}]`;
  if (mode === "conditional") {
    const { condition } = choice;
    return typeof condition === "number"
      ? `condition ${condition} of ${at} is true, so ${taken} is taken`
      : `no condition of ${at} is true, so its default ${taken} is taken`;
  }
  const weights = choice["weights"];
  if (Array.isArray(weights) && weights[branch] === 0) return `its weight is 0`;
  if (choice["sticky"] === true) return `requests that are alike keep to ${taken}`;
  const draw = choice["draw"];
  return typeof draw === "number" && Array.isArray(weights)
    ? `the draw ${draw.toFixed(4)} among the weights ${weights.join(", ")} chose ${taken}; another request draws anew`
    : `${at} chose ${taken}`;
}
