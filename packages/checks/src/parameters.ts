import { CheckParameterError } from "./define.ts";

/** A parameter that is true or false, or left out: false. */
export function readFlag(name: string, value: unknown): boolean {
  if (value === undefined) return false;
  if (typeof value !== "boolean") throw new CheckParameterError(name, "true or false");
  return value;
}

/** A parameter that is one of some words; `fallback` when it is left out, null = it must be given. */
export function readWord<T extends string>(name: string, value: unknown, words: readonly T[], fallback: T | null): T {
  if (value === undefined && fallback !== null) return fallback;
  const found = words.find((word) => word === value);
  if (found === undefined) throw new CheckParameterError(name, `${words.slice(0, -1).join(", ")} or ${words.at(-1) ?? ""}`);
  return found;
}
