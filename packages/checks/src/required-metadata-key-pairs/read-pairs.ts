import { isObject } from "@unigate/core";
import { CheckParameterError } from "../define.ts";
import { createPattern, type Pattern } from "../pattern.ts";

export type MatchType = "exact" | "contains" | "containsAll" | "regex";

/** What the value under one metadata key has to be. */
export interface Pair {
  readonly key: string;
  /** Throws when the value is too long to be told. */
  matches(value: string): boolean;
}

const MAX_PAIRS = 100;
const MAX_WANTED = 100;
const MAX_LENGTH = 1_000;
/** Patterns of one check together, and characters each may look at: 0.2 s in the worst case. */
const MAX_PATTERNS = 20;
const MAX_PATTERN_TEXT = 256;

/**
 * Reads `{key: wanted}`. A wanted value is a text, number or boolean, compared as text, or an array of them: any of them
 * will do, but `containsAll` wants every one, and splits a text at its commas.
 */
export function readPairs(value: unknown, matchType: MatchType): Pair[] {
  const entries = isObject(value) ? Object.entries(value) : [];
  if (entries.length === 0 || entries.length > MAX_PAIRS)
    throw new CheckParameterError("metadataPairs", `an object of 1 to ${MAX_PAIRS} metadata keys and the values they should have`);
  const pairs = entries.map(([key, wanted]) => ({ key, wanted: readWanted(`metadataPairs.${key}`, wanted) }));
  if (matchType === "regex" && pairs.reduce((sum, { wanted }) => sum + wanted.length, 0) > MAX_PATTERNS)
    throw new CheckParameterError("metadataPairs", `at most ${MAX_PATTERNS} patterns`);
  return pairs.map(({ key, wanted }) => ({ key, matches: matcherOf(`metadataPairs.${key}`, matchType, wanted) }));
}

function readWanted(parameter: string, value: unknown): string[] {
  const wanted: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (wanted.length === 0 || wanted.length > MAX_WANTED || !wanted.every(isScalar) || wanted.some((one) => String(one).length > MAX_LENGTH))
    throw new CheckParameterError(
      parameter,
      `a text, number or boolean of at most ${MAX_LENGTH} characters, or an array of 1 to ${MAX_WANTED}`,
    );
  return wanted.map(String);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function matcherOf(parameter: string, matchType: MatchType, wanted: readonly string[]): Pair["matches"] {
  switch (matchType) {
    case "exact":
      return (value) => wanted.includes(value);
    case "contains":
      return (value) => wanted.some((one) => value.includes(one));
    case "containsAll": {
      const parts = wanted.flatMap((one) => one.split(",")).flatMap((part) => (part.trim() === "" ? [] : [part.trim()]));
      if (parts.length === 0) throw new CheckParameterError(parameter, "at least one text that is not empty");
      return (value) => parts.every((part) => value.includes(part));
    }
    case "regex":
      return patternMatcher(
        parameter,
        wanted.map((one) => createPattern(parameter, one)),
      );
  }
}

function patternMatcher(parameter: string, patterns: readonly Pattern[]): Pair["matches"] {
  return (value) => {
    if (value.length > MAX_PATTERN_TEXT)
      throw new Error(`${parameter}: the value is longer than the ${MAX_PATTERN_TEXT} characters looked at`);
    return patterns.some((pattern) => pattern.matches(value));
  };
}
