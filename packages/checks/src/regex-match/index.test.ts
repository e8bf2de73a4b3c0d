import { describe, expect, test } from "vitest";
import { checkInput, NOTHING_OUTSIDE } from "../check-input.fixture.ts";
import { CheckParameterError } from "../define.ts";
import regexMatch from "./index.ts";

async function verdict(parameters: Record<string, unknown>, text: string): Promise<boolean> {
  return (await regexMatch.prepare(parameters)(checkInput({ phase: "after", text: text }), NOTHING_OUTSIDE)).verdict;
}

describe("default.regexMatch", () => {
  test.each([
    ["\\d{3}-\\d{2}-\\d{4}", "my number is 123-45-6789", true],
    ["\\d{3}-\\d{2}-\\d{4}", "no number", false],
    ["^hello$", "hello", true],
    ["^hello$", "hello\nworld", false],
    ["/^world$/m", "hello\nworld", true],
    ["secret", "SECRET", false],
    ["/secret/i", "SECRET", true],
    ["/a.b/s", "a\nb", true],
    ["/a.b/gu", "a\nb", false],
    ["/api/users", "GET /api/users", true],
    ["/api/ii", "the /api/ii path", true],
    ["(?<year>\\d{4})", "in 2026", true],
    ["\\u0041\\cI[^]", "A\t\n", true],
    ["(?i)token", "Token", true],
    ["^\\p{Lu}", "Émile", true],
  ])("%j on %j is %s", async (rule, text, expected) => {
    expect(await verdict({ rule }, text)).toBe(expected);
    expect(await verdict({ rule, not: true }, text)).toBe(!expected);
  });

  test("says what it looked for", async () => {
    const found = await regexMatch.prepare({ rule: "b+" })(checkInput({ phase: "after", text: "abbc" }), NOTHING_OUTSIDE);
    expect(found.data).toEqual({ explanation: "The pattern matches the text.", regexPattern: "b+", not: false });
  });

  test("an empty text is an error", () => {
    expect(() => regexMatch.prepare({ rule: "a" })(checkInput({ phase: "after", text: "" }), NOTHING_OUTSIDE)).toThrow(
      "there is no text to check",
    );
  });

  test.each([
    [{}, "rule: expected a pattern"],
    [{ rule: "" }, "rule: expected a pattern"],
    [{ rule: 5 }, "rule: expected a pattern"],
    [{ rule: "a", not: "yes" }, "not: expected true or false"],
    [{ rule: "(" }, "rule: expected a valid pattern"],
    [{ rule: "foo(?=bar)" }, "without lookahead"],
    [{ rule: "foo(?!bar)" }, "without lookahead"],
    [{ rule: "(?<=foo)bar" }, "lookbehind"],
    [{ rule: "(a)\\1" }, "backreferences"],
    [{ rule: "(?<x>a)\\k<x>" }, "backreferences"],
    [{ rule: "/a/y" }, "flags"],
    [{ rule: "x".repeat(1_001) }, "at most 1000 characters"],
    [{ rule: "(a{1,30}){1,30}(b{1,30}){1,30}" }, "smaller counted repeats"],
  ])("%j is refused", (parameters, message) => {
    expect(() => regexMatch.prepare(parameters)).toThrow(CheckParameterError);
    expect(() => regexMatch.prepare(parameters)).toThrow(message);
  });
});
