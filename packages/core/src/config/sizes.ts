import { isObject, type JsonObject } from "../json.ts";
import { joined } from "./rules.ts";
import type { ConfigProblem } from "./types.ts";

/** How many targets a config may have (behaviour 1.2). */
const MAX_ROOT_TARGETS = 100;
const MAX_CONDITIONAL_TARGETS = 1_000;
/** At all depths below one target of the root together. */
const MAX_NESTED_TARGETS = 50;
/** Longest list of anything else. */
const MAX_ITEMS = 1_000;

/** The first list that is too long: looked for before any item is checked, so that a huge config is refused at once. */
export function sizeProblem(config: JsonObject): ConfigProblem | null {
  return targetProblem(config) ?? listProblem(config, "");
}

function targetProblem(config: JsonObject): ConfigProblem | null {
  const targets = targetsOf(config);
  const { strategy } = config;
  const most = isObject(strategy) && strategy["mode"] === "conditional" ? MAX_CONDITIONAL_TARGETS : MAX_ROOT_TARGETS;
  if (targets.length > most) return tooMany("targets", `at most ${most} targets`, targets.length);
  for (const [index, target] of targets.entries()) {
    const nested = countBelow(target);
    if (nested > MAX_NESTED_TARGETS)
      return tooMany(
        `targets[${index}].targets`,
        `at most ${MAX_NESTED_TARGETS} targets at all depths below one target of the root`,
        nested,
      );
  }
  return null;
}

function countBelow(node: unknown): number {
  const targets = targetsOf(node);
  let count = targets.length;
  for (const target of targets) count += countBelow(target);
  return count;
}

function targetsOf(node: unknown): readonly unknown[] {
  const targets: unknown = isObject(node) ? node["targets"] : undefined;
  return Array.isArray(targets) ? targets : [];
}

function listProblem(node: JsonObject, path: string): ConfigProblem | null {
  for (const [name, value] of Object.entries(node)) {
    if (name !== "targets" && Array.isArray(value) && value.length > MAX_ITEMS) return tooLong(joined(path, name), value.length);
    if (!isObject(value) || !SECTIONS.has(name)) continue;
    for (const [inner, list] of Object.entries(value))
      if (Array.isArray(list) && list.length > MAX_ITEMS) return tooLong(joined(path, `${name}.${inner}`), list.length);
  }
  for (const [index, target] of targetsOf(node).entries()) {
    const problem = isObject(target) ? listProblem(target, joined(path, `targets[${index}]`)) : null;
    if (problem !== null) return problem;
  }
  return null;
}

/** Objects of a config whose lists are checked item by item. */
const SECTIONS = new Set(["strategy", "retry", "cb_config"]);

function tooLong(path: string, found: number): ConfigProblem {
  return tooMany(path, `at most ${MAX_ITEMS} items`, found);
}

function tooMany(path: string, most: string, found: number): ConfigProblem {
  return { path: path.slice(0, MAX_PATH), message: `${most}, found ${found}` };
}

/** Names may be anything here. */
const MAX_PATH = 500;
