import { describe, expect, test } from "vitest";
import { checkInput, NOTHING_OUTSIDE } from "../check-input.fixture.ts";
import { CheckParameterError } from "../define.ts";
import contains from "./index.ts";

describe("default.contains", () => {
  test.each([
    ["any", ["cat", "dog"], "a dog barks", true],
    ["any", ["cat", "dog"], "a bird sings", false],
    ["all", ["cat", "dog"], "cats and dogs", true],
    ["all", ["cat", "dog"], "a dog barks", false],
    ["none", ["cat", "dog"], "a bird sings", true],
    ["none", ["cat", "dog"], "concatenate", false],
    ["any", ["Cat"], "a cat", false],
    ["any", ["a.b"], "axb", false],
    ["none", ["cat"], "", true],
    ["all", [""], "anything", true],
  ])("%s of %j in %j is %s", async (operator, words, text, verdict) => {
    expect((await contains.prepare({ operator, words })(checkInput({ text: text }), NOTHING_OUTSIDE)).verdict).toBe(verdict);
  });

  test("says which words were found", async () => {
    const found = await contains.prepare({ operator: "any", words: ["cat", "dog"] })(checkInput({ text: "a dog" }), NOTHING_OUTSIDE);
    expect(found.data).toEqual({
      explanation: "At least one word was found.",
      operator: "any",
      foundWords: ["dog"],
      missingWords: ["cat"],
    });
  });

  test.each([
    [{ operator: "any" }, "words"],
    [{ operator: "any", words: [] }, "words"],
    [{ operator: "any", words: "cat" }, "words"],
    [{ operator: "any", words: [1] }, "words"],
    [{ operator: "any", words: ["x".repeat(1_001)] }, "words"],
    [{ operator: "any", words: Array.from({ length: 1_001 }, () => "x") }, "words"],
    [{ words: ["cat"] }, "operator"],
    [{ operator: "some", words: ["cat"] }, "operator"],
  ])("%j is refused, naming the parameter", (parameters, parameter) => {
    expect(() => contains.prepare(parameters)).toThrow(CheckParameterError);
    expect(() => contains.prepare(parameters)).toThrow(new RegExp(`^${parameter}: expected `));
  });
});
