import { backgroundCall } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { type CheckInput, CheckParameterError, type Outside } from "../define.ts";
import contains from "./index.ts";

/** These checks ask nobody. */
const OUTSIDE: Outside = { call: backgroundCall(), post: () => Promise.reject(new Error("nothing is outside")) };

function input(text: string): CheckInput {
  return {
    phase: "before",
    text,
    request: {},
    requestText: text,
    reply: null,
    status: null,
    metadata: {},
    model: "",
    provider: "openai",
    headers: {},
    surface: "chat",
    stream: false,
    rewritten: false,
  };
}

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
    expect((await contains.prepare({ operator, words })(input(text), OUTSIDE)).verdict).toBe(verdict);
  });

  test("says which words were found", async () => {
    const found = await contains.prepare({ operator: "any", words: ["cat", "dog"] })(input("a dog"), OUTSIDE);
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
