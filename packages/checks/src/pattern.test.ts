import { describe, expect, test } from "vitest";
import { createPattern, MAX_TEXT_LENGTH } from "./pattern.ts";

/** Patterns on which a backtracking engine does not come back, each with a text that makes it so. */
const HOSTILE: readonly (readonly [rule: string, unit: string])[] = [
  ["(a+)+$", "a"],
  ["(a|a)*b$", "a"],
  ["(a|aa)+$", "a"],
  ["(.*a){20}!", "a"],
  ["(x+x+)+y", "x"],
  ["^(([a-z])+.)+[A-Z]([a-z])+$", "a"],
  ["([ab]*a[ab]{90}|c)[cd]$", "ab"],
  ["(?:a?){100}a{100}b\\b", "a"],
  ["\\s+$", " "],
];

/** As much as the pattern may look at, and then something that no pattern above matches. */
function longestText(rule: string, unit: string): string {
  const pattern = createPattern("rule", rule);
  let length = MAX_TEXT_LENGTH;
  for (;;) {
    const text = `${unit.repeat(Math.floor((length - 1) / unit.length))}#`;
    try {
      pattern.matches(text);
      return text;
    } catch {
      length = Math.floor(length / 2);
    }
  }
}

describe("a pattern works in bounded time", () => {
  test.each(HOSTILE)("%s", (rule, unit) => {
    const text = longestText(rule, unit);
    expect(text.length).toBeGreaterThan(60_000);
    expect(createPattern("rule", rule).matches(text)).toBe(false);
  });

  test.each(HOSTILE)("%s on a text of 1 MB is an error at once", (rule, unit) => {
    expect(() => createPattern("rule", rule).matches(unit.repeat(1_000_000))).toThrow(
      /^the text has \d+ characters; this pattern can look at \d+$/,
    );
  });

  test("a large pattern may look at less text", () => {
    const pattern = createPattern("rule", "[a-z]{900}[0-9]");
    expect(pattern.matches(`${"word".repeat(5_000)}1`)).toBe(true);
    expect(() => pattern.matches(" ".repeat(MAX_TEXT_LENGTH))).toThrow("this pattern can look at");
  });

  test("a pattern that was slow once works again", () => {
    const pattern = createPattern("rule", "[ab]*a[ab]{300}[cd]");
    expect(pattern.matches("ab".repeat(20_000))).toBe(false);
    expect(pattern.matches(`${"ab".repeat(200)}ac`)).toBe(true);
  });
});
