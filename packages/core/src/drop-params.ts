import { isObject, type JsonObject } from "./json.ts";

/** A key, an index, or "*" for every element. */
type Step = string | number;

/** Most places that the paths of one call may look at: bounds the work of hostile paths. */
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

/** The keys to remove of each object and array that changes; none for one that only holds another that changes. */
type Removals = Map<object, Set<Step>>;

/**
 * `body`, a tree as JSON.parse makes it, without what the paths name. An index counts the elements of `body` as it
 * came, whatever else is removed. Missing paths are ignored. `body` itself is never changed: what is on the way to a
 * removed value is copied, and `body` comes back when nothing was removed.
 */
export function dropParams(body: unknown, paths: readonly string[]): unknown {
  const removals: Removals = new Map();
  const budget = { left: MAX_VISITS };
  for (const path of paths) {
    const steps = parsePath(path);
    if (steps !== null) mark(body, steps, 0, removals, budget);
  }
  return without(body, removals);
}

/** Notes what one path removes at or below `value`. Says whether there was anything. */
function mark(value: unknown, steps: readonly Step[], at: number, removals: Removals, budget: { left: number }): boolean {
  const step = steps[at];
  if (step === undefined || typeof value !== "object" || value === null) return false;
  if (Array.isArray(value) && step === "*") {
    let some = false;
    for (let index = 0; index < value.length && budget.left > 0; index++) {
      some = markKey(value, index, value[index], steps, at, removals, budget) || some;
    }
    return some;
  }
  if (Array.isArray(value)) {
    const index = /^\d+$/.test(String(step)) ? Number(step) : -1;
    return index >= 0 && index < value.length && markKey(value, index, value[index], steps, at, removals, budget);
  }
  const key = String(step);
  return Object.hasOwn(value, key) && markKey(value, key, (value as JsonObject)[key], steps, at, removals, budget);
}

function markKey(
  holder: object,
  key: Step,
  inner: unknown,
  steps: readonly Step[],
  at: number,
  removals: Removals,
  budget: { left: number },
): boolean {
  if (budget.left-- <= 0) return false;
  const isLast = at === steps.length - 1;
  if (!isLast && !mark(inner, steps, at + 1, removals, budget)) return false;
  let keys = removals.get(holder);
  if (keys === undefined) {
    keys = new Set();
    removals.set(holder, keys);
  }
  if (isLast) keys.add(key);
  return true;
}

function without(value: unknown, removals: Removals): unknown {
  if (typeof value !== "object" || value === null) return value;
  const keys = removals.get(value);
  if (keys === undefined) return value;
  if (Array.isArray(value)) return value.filter((_, index) => !keys.has(index)).map((item) => without(item, removals));
  if (!isObject(value)) return value;
  const copy = { ...value };
  for (const key of keys) delete copy[key];
  for (const [key, inner] of Object.entries(copy)) copy[key] = without(inner, removals);
  return copy;
}
