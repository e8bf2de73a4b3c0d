import { compilePattern, type LinearPattern } from "@unigate/core";
import { CheckParameterError } from "./define.ts";

const MAX_PATTERN_LENGTH = 1_000;
/** Characters of a text that a pattern may look at. */
export const MAX_TEXT_LENGTH = 256 * 1_024;
/** Instructions of a compiled pattern: counted repeats multiply. */
const MAX_PROGRAM = 2_000;
/** Instructions x characters: the worst case of a match is 25 ns for each. */
const MAX_WORK = 32_000_000;

/** A pattern whose `matches` throws when the text is too long for it: then nothing is known. */
export type Pattern = LinearPattern;

/**
 * Compiles a pattern given plain or as `/pattern/flags` (flags of JavaScript; g, d and u change nothing here).
 * Throws CheckParameterError for what linear time cannot do: lookahead, lookbehind, backreferences.
 */
export function createPattern(parameter: string, rule: string): Pattern {
  const { source, letters } = readRule(parameter, rule);
  if (source.length > MAX_PATTERN_LENGTH) throw new CheckParameterError(parameter, `a pattern of at most ${MAX_PATTERN_LENGTH} characters`);
  const compiled = compilePattern(source, letters);
  if (!compiled.ok)
    throw new CheckParameterError(parameter, `a valid pattern without lookahead, lookbehind and backreferences (${compiled.reason})`);
  const { pattern } = compiled;
  if (pattern.size > MAX_PROGRAM)
    throw new CheckParameterError(parameter, "a pattern with smaller counted repeats: it is too large when written out");
  const longest = Math.min(MAX_TEXT_LENGTH, Math.floor(MAX_WORK / pattern.size));
  return {
    size: pattern.size,
    matches(text) {
      if (text.length > longest) throw new Error(`the text has ${text.length} characters; this pattern can look at ${longest}`);
      return pattern.matches(text);
    },
  };
}

/** A tail that is no set of flags belongs to the pattern: "/api/users" is a plain rule. */
function readRule(parameter: string, rule: string): { source: string; letters: string } {
  const literal = /^\/(?<source>.+)\/(?<letters>[dgimsuvy]*)$/s.exec(rule)?.groups;
  const { source, letters } = literal ?? {};
  if (source === undefined || letters === undefined || new Set(letters).size < letters.length) return { source: rule, letters: "" };
  if (/[vy]/.test(letters)) throw new CheckParameterError(parameter, "a pattern with flags of d, g, i, m, s and u only");
  return { source, letters };
}
