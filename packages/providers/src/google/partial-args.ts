import { isObject, type JsonObject } from "@unigate/core";
import { listOf, stringOf } from "../chat/json-value.ts";

/** Deepest place and longest list that streamed arguments may fill. */
const MAX_STEPS = 64;
const MAX_INDEX = 10_000;

const STEP = /\.([^.[\]]+)|\[(\d{1,5})\]|\['([^']*)'\]/y;

/**
 * Lays pieces of streamed arguments (`{jsonPath: "$.city", stringValue: "Bos", willContinue: true}`) into `args`, which
 * is changed. Texts for one place follow each other. A place that cannot be is left out.
 */
export function addPartialArgs(args: JsonObject, pieces: unknown): void {
  for (const piece of listOf(pieces)) {
    if (!isObject(piece)) continue;
    const steps = stepsOf(stringOf(piece["jsonPath"]));
    const value = valueOf(piece);
    if (steps !== null && value !== undefined) lay(args, steps, value);
  }
}

function valueOf(piece: JsonObject): unknown {
  for (const key of ["stringValue", "numberValue", "boolValue"]) if (piece[key] !== undefined) return piece[key];
  return "nullValue" in piece ? null : undefined;
}

function stepsOf(path: string): (string | number)[] | null {
  if (!path.startsWith("$") || path.length > 2000) return null;
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path);
    if (found === null || steps.length >= MAX_STEPS) return null;
    const step = found[2] === undefined ? (found[1] ?? found[3] ?? "") : Number(found[2]);
    if (step === "__proto__" || (typeof step === "number" && step > MAX_INDEX)) return null;
    steps.push(step);
  }
  return steps.length === 0 ? null : steps;
}

function lay(args: JsonObject, steps: readonly (string | number)[], value: unknown): void {
  let place: JsonObject | unknown[] = args;
  for (const [at, step] of steps.entries()) {
    const known: unknown = Object.hasOwn(place, step) ? (place as JsonObject)[step] : undefined;
    const next = steps[at + 1];
    if (next === undefined) {
      (place as JsonObject)[step] = typeof known === "string" && typeof value === "string" ? known + value : value;
      return;
    }
    const inner: JsonObject | unknown[] =
      typeof known === "object" && known !== null ? (known as JsonObject) : typeof next === "number" ? [] : {};
    (place as JsonObject)[step] = inner;
    place = inner;
  }
}
