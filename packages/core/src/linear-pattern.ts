import { RE2JS } from "re2js";

/** A match that took this long has filled the state cache (up to 8 MiB a pattern); it is not kept. */
const SLOW_MATCH_MS = 20;

/** A user's pattern, matched in time linear in the text. */
export interface LinearPattern {
  /** Instructions of the compiled pattern: times characters and 25 ns, the worst case of a match. */
  readonly size: number;
  /** Whether it matches anywhere. Whoever calls bounds the text. */
  matches(text: string): boolean;
}

export type PatternResult = { readonly ok: true; readonly pattern: LinearPattern } | { readonly ok: false; readonly reason: string };

/**
 * Compiles a pattern with flags of `i`, `m` and `s`. JavaScript's spelling of RE2's constructs is understood:
 * `(?<name>`, `\u0041`, `\cA`. What linear time cannot do is refused: lookahead, lookbehind, backreferences.
 */
export function compilePattern(source: string, letters = ""): PatternResult {
  if (namesGroup(source)) return { ok: false, reason: "\\k<name>" };
  const flags =
    (letters.includes("i") ? RE2JS.CASE_INSENSITIVE : 0) |
    (letters.includes("m") ? RE2JS.MULTILINE : 0) |
    (letters.includes("s") ? RE2JS.DOTALL : 0);
  const compile = () => RE2JS.compile(RE2JS.translateRegExp(source), flags);
  try {
    return { ok: true, pattern: patternOf(compile) };
  } catch (cause) {
    return { ok: false, reason: cause instanceof Error ? cause.message : String(cause) };
  }
}

function patternOf(compile: () => RE2JS): LinearPattern {
  let compiled: RE2JS | null = compile();
  return {
    size: compiled.programSize(),
    matches(text) {
      compiled ??= compile();
      const started = performance.now();
      const found = compiled.test(text);
      if (performance.now() - started > SLOW_MATCH_MS) compiled = null;
      return found;
    },
  };
}

/** Whether there is a `\k<`: translation would read it as the letter. */
function namesGroup(source: string): boolean {
  for (let index = source.indexOf("\\"); index >= 0; index = source.indexOf("\\", index + 2)) {
    if (source.startsWith("k<", index + 1)) return true;
  }
  return false;
}
