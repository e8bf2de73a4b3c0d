import { isObject, type JsonObject } from "../json.ts";
import { joined } from "./rules.ts";
import type { ConfigProblem } from "./types.ts";

/** How many targets a config may have (behaviour 1.2). */
const MAX_ROOT_TARGETS = 100;
const MAX_CONDITIONAL_TARGETS = 1_000;
const MAX_NESTED_TARGETS = 50;
/** Longest list of anything else. */
const MAX_ITEMS = 1_000;

/** The first list that is too long: looked for before any item is checked, so that a huge config is refused at once. */
export function sizeProblem(node: JsonObject, path = "", isTarget = false): ConfigProblem | null {
  const { strategy, targets } = node;
  const limit = isTarget
    ? MAX_NESTED_TARGETS
    : isObject(strategy) && strategy["mode"] === "conditional"
      ? MAX_CONDITIONAL_TARGETS
      : MAX_ROOT_TARGETS;
  for (const [name, value] of Object.entries(node)) {
    if (name !== "targets" && Array.isArray(value) && value.length > MAX_ITEMS)
      return tooLong(joined(path, name), MAX_ITEMS, value, "items");
    if (!isObject(value) || !SECTIONS.has(name)) continue;
    for (const [inner, list] of Object.entries(value))
      if (Array.isArray(list) && list.length > MAX_ITEMS) return tooLong(joined(path, `${name}.${inner}`), MAX_ITEMS, list, "items");
  }
  if (!Array.isArray(targets)) return null;
  if (targets.length > limit) return tooLong(joined(path, "targets"), limit, targets, "targets");
  for (const [index, target] of targets.entries()) {
    const problem = isObject(target) ? sizeProblem(target, joined(path, `targets[${index}]`), true) : null;
    if (problem !== null) return problem;
  }
  return null;
}

/** Objects of a config whose lists are checked item by item. */
const SECTIONS = new Set(["strategy", "retry", "cb_config"]);

function tooLong(path: string, limit: number, list: readonly unknown[], what: string): ConfigProblem {
  return { path: path.slice(0, MAX_PATH), message: `at most ${limit} ${what}, found ${list.length}` };
}

/** Names may be anything here. */
const MAX_PATH = 500;
