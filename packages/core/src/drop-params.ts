import type { JsonObject } from "./json.ts";

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

/** What to remove, while the paths are walked. */
interface Marking {
  /** The keys to remove of each object and array that changes; none for one that only holds another that changes. */
  readonly removals: Map<object, Set<Step>>;
  /** Visits still allowed. */
  left: number;
}

/**
 * `body`, a tree as JSON.parse makes it, without what the paths name. An index counts the elements of `body` as it
 * came, whatever else is removed. Missing paths are ignored. `body` itself is never changed: what is on the way to a
 * removed value is copied, and `body` comes back when nothing was removed.
 */
export function dropParams(body: unknown, paths: readonly string[]): unknown {
  const marking: Marking = { removals: new Map(), left: MAX_VISITS };
  for (const path of paths) {
    const steps = parsePath(path);
    if (steps !== null) mark(marking, steps, 0, body);
  }
  return without(body, marking.removals);
}

/** Notes what the steps from `at` on remove below `value`. Says whether there was anything. */
function mark(marking: Marking, steps: readonly Step[], at: number, value: unknown): boolean {
  const step = steps[at];
  if (step === undefined || typeof value !== "object" || value === null) return false;
  if (!Array.isArray(value)) {
    const key = String(step);
    return Object.hasOwn(value, key) && markKey(marking, steps, at, value, key, (value as JsonObject)[key]);
  }
  if (step !== "*") {
    const index = /^\d+$/.test(String(step)) ? Number(step) : -1;
    return index >= 0 && index < value.length && markKey(marking, steps, at, value, index, value[index]);
  }
  let some = false;
  for (let index = 0; index < value.length && marking.left > 0; index++) {
    if (markKey(marking, steps, at, value, index, value[index])) some = true;
  }
  return some;
}

function markKey(marking: Marking, steps: readonly Step[], at: number, holder: object, key: Step, inner: unknown): boolean {
  if (marking.left-- <= 0) return false;
  const isLast = at === steps.length - 1;
  if (!isLast && !mark(marking, steps, at + 1, inner)) return false;
  let keys = marking.removals.get(holder);
  if (keys === undefined) {
    keys = new Set();
    marking.removals.set(holder, keys);
  }
  if (isLast) keys.add(key);
  return true;
}

function without(value: unknown, removals: ReadonlyMap<object, ReadonlySet<Step>>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const keys = removals.get(value);
  if (keys === undefined) return value;
  if (Array.isArray(value)) return value.filter((_, index) => !keys.has(index)).map((item) => without(item, removals));
  const copy: JsonObject = { ...value };
  for (const key of keys) delete copy[key];
  for (const [key, inner] of Object.entries(copy)) copy[key] = without(inner, removals);
  return copy;
}
