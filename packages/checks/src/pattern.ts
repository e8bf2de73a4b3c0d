import { RE2JS } from "re2js";
import { CheckParameterError } from "./define.ts";

const MAX_PATTERN_LENGTH = 1_000;
/** Characters of a text that a pattern may look at. */
export const MAX_TEXT_LENGTH = 256 * 1_024;
/** Instructions of a compiled pattern: counted repeats multiply. */
const MAX_PROGRAM = 2_000;
/** Instructions x characters: the worst case of a match is 25 ns for each. */
const MAX_WORK = 32_000_000;
/** A match that took this long has filled the state cache (up to 8 MiB a pattern); it is not kept. */
const SLOW_MATCH_MS = 20;

/** A user's pattern, matched in time linear in the text. */
export interface Pattern {
  /** Instructions of the compiled pattern: times characters, the worst case of a match. */
  readonly size: number;
  /** Whether it matches anywhere. Throws when the text is too long for it: then nothing is known. */
  matches(text: string): boolean;
}

/**
 * Compiles a pattern given plain or as `/pattern/flags` (flags of JavaScript; g, d and u change nothing here).
 * JavaScript's spelling of RE2's constructs is understood: `(?<name>`, `\u0041`, `\cA`. Throws CheckParameterError for
 * what linear time cannot do: lookahead, lookbehind, backreferences.
 */
export function createPattern(parameter: string, rule: string): Pattern {
  const { source, flags } = readRule(parameter, rule);
  if (source.length > MAX_PATTERN_LENGTH) throw new CheckParameterError(parameter, `a pattern of at most ${MAX_PATTERN_LENGTH} characters`);
  let compiled: RE2JS | null = compile(parameter, source, flags);
  const size = compiled.programSize();
  if (size > MAX_PROGRAM)
    throw new CheckParameterError(parameter, "a pattern with smaller counted repeats: it is too large when written out");
  const longest = Math.min(MAX_TEXT_LENGTH, Math.floor(MAX_WORK / size));
  return {
    size,
    matches(text) {
      if (text.length > longest) throw new Error(`the text has ${text.length} characters; this pattern can look at ${longest}`);
      compiled ??= compile(parameter, source, flags);
      const started = performance.now();
      const found = compiled.test(text);
      if (performance.now() - started > SLOW_MATCH_MS) compiled = null;
      return found;
    },
  };
}

/** A tail that is no set of flags belongs to the pattern: "/api/users" is a plain rule. */
function readRule(parameter: string, rule: string): { source: string; flags: number } {
  const literal = /^\/(?<source>.+)\/(?<letters>[dgimsuvy]*)$/s.exec(rule)?.groups;
  const { source, letters } = literal ?? {};
  if (source === undefined || letters === undefined || new Set(letters).size < letters.length) return { source: rule, flags: 0 };
  if (/[vy]/.test(letters)) throw new CheckParameterError(parameter, "a pattern with flags of d, g, i, m, s and u only");
  const flags =
    (letters.includes("i") ? RE2JS.CASE_INSENSITIVE : 0) |
    (letters.includes("m") ? RE2JS.MULTILINE : 0) |
    (letters.includes("s") ? RE2JS.DOTALL : 0);
  return { source, flags };
}

function compile(parameter: string, source: string, flags: number): RE2JS {
  if (namesGroup(source)) throw unsupported(parameter, "\\k<name>");
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source), flags);
  } catch (cause) {
    throw unsupported(parameter, cause instanceof Error ? cause.message : String(cause));
  }
}

/** Whether there is a `\k<`: translation would read it as the letter. */
function namesGroup(source: string): boolean {
  for (let index = source.indexOf("\\"); index >= 0; index = source.indexOf("\\", index + 2)) {
    if (source.startsWith("k<", index + 1)) return true;
  }
  return false;
}

function unsupported(parameter: string, found: string): CheckParameterError {
  return new CheckParameterError(parameter, `a valid pattern without lookahead, lookbehind and backreferences (${found})`);
}
