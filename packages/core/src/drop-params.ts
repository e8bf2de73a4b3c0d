import { isObject } from "./json.ts";

/** A key, an index, or "*" for every element. */
type Step = string | number;

/** Most elements one `[*]` may reach: bounds the work of hostile paths. */
const MAX_VISITS = 100_000;

/** The steps of "a.b", "a[0].b", "a[*].b" or "a.0.b" (behaviour 0); null when it is no path. */
export function parsePath(text: string): Step[] | null {
  const steps: Step[] = [];
  for (const part of text.split(".")) {
    const match = /^([^[\]]*)((?:\[(?:\d+|\*)\])*)$/.exec(part);
    if (match === null) return null;
    const [, name = "", brackets = ""] = match;
    if (name === "" && brackets === "") return null;
    if (name !== "") steps.push(name);
    for (const [, index = ""] of brackets.matchAll(/\[(\d+|\*)\]/g)) steps.push(index === "*" ? "*" : Number(index));
  }
  return steps;
}

/**
 * `body` without what the paths name. Missing paths are ignored. `body` itself is never changed: what is on the way
 * to a removed value is copied, and `body` comes back when nothing was removed.
 */
export function dropParams(body: unknown, paths: readonly string[]): unknown {
  let result = body;
  const budget = { left: MAX_VISITS };
  for (const path of paths) {
    const steps = parsePath(path);
    if (steps !== null) result = without(result, steps, 0, budget);
  }
  return result;
}

const REMOVED = Symbol("removed");

function without(value: unknown, steps: readonly Step[], at: number, budget: { left: number }): unknown {
  const result = remove(value, steps, at, budget);
  return result === REMOVED ? value : result;
}

function remove(value: unknown, steps: readonly Step[], at: number, budget: { left: number }): unknown {
  if (at === steps.length) return REMOVED;
  if (budget.left-- <= 0) return value;
  const step = steps[at];
  if (Array.isArray(value)) return removeFromArray(value, step, steps, at, budget);
  if (!isObject(value)) return value;
  const key = String(step);
  if (step === "*" || !Object.hasOwn(value, key)) return value;
  const inner = remove(value[key], steps, at + 1, budget);
  if (inner === value[key]) return value;
  const copy = { ...value };
  if (inner === REMOVED) delete copy[key];
  else copy[key] = inner;
  return copy;
}

function removeFromArray(
  list: readonly unknown[],
  step: Step | undefined,
  steps: readonly Step[],
  at: number,
  budget: { left: number },
): unknown {
  if (step !== "*" && !/^\d+$/.test(String(step))) return list;
  const only = step === "*" ? null : Number(step);
  let changed = false;
  const kept: unknown[] = [];
  for (const [index, item] of list.entries()) {
    const inner = only === null || only === index ? remove(item, steps, at + 1, budget) : item;
    if (inner !== item) changed = true;
    if (inner !== REMOVED) kept.push(inner);
  }
  return changed ? kept : list;
}
