import { boundedJson, isObject, type JsonObject } from "@unigate/core";

// Unknown JSON read as what it should be, with an empty value where it is something else.

const NO_OBJECT: JsonObject = Object.freeze({});
const NO_LIST: readonly unknown[] = Object.freeze([]);

/** A text, else "". */
export function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** An object, else an empty one that nobody may change. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : NO_OBJECT;
}

/** A list, else an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : NO_LIST;
}

/** A count of tokens or the like: a whole number above 0, else 0. */
export function countOf(value: unknown): number {
  return typeof value === "number" && value > 0 && Number.isSafeInteger(value) ? value : 0;
}

/** The JSON object that a text holds, else null: also for one nested deeper than MAX_JSON_DEPTH. */
export function objectIn(text: string): JsonObject | null {
  try {
    const value = boundedJson(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
