import { describe, expect, test } from "vitest";
import { checkInput, NOTHING_OUTSIDE } from "../check-input.fixture.ts";
import { CheckParameterError } from "../define.ts";
import modelWhitelist from "./index.ts";

describe("default.modelWhitelist", () => {
  test.each([
    [{ models: ["a", "b"] }, "b", true],
    [{ models: ["a", "b"] }, "c", false],
    [{ models: ["a", "b"] }, "A", false],
    [{ models: ["a"] }, "a-2", false],
    [{ models: ["a"], not: true }, "a", false],
    [{ models: ["a"], not: true }, "b", true],
    [{ models: ["a"], inverse: true }, "a", false],
    [{ models: ["a"], inverse: true }, "b", true],
    [{ models: ["a"], not: false, inverse: true }, "a", true],
    [{ models: ["constructor"] }, "toString", false],
  ])("%j lets %s through: %s", async (parameters, model, verdict) => {
    expect((await modelWhitelist.prepare(parameters)(checkInput({ request: { model } }), NOTHING_OUTSIDE)).verdict).toBe(verdict);
  });

  test("says what was asked for and what may be", async () => {
    const { data } = await modelWhitelist.prepare({ models: ["a", "b"] })(checkInput({ request: { model: "c" } }), NOTHING_OUTSIDE);
    expect(data).toEqual({ explanation: "The model is not allowed.", requestedModel: "c", not: false, models: ["a", "b"] });
  });

  test("the body's model counts; one that is named elsewhere stands in for it", async () => {
    const check = modelWhitelist.prepare({ models: ["a"] });
    expect((await check(checkInput({ request: { model: "a" }, model: "b" }), NOTHING_OUTSIDE)).verdict).toBe(true);
    expect((await check(checkInput({ request: {}, model: "a" }), NOTHING_OUTSIDE)).verdict).toBe(true);
  });

  test.each([{}, { model: "" }, { model: 5 }, { model: ["a"] }])("without a model (%j) it is an error", (request) => {
    expect(() => modelWhitelist.prepare({ models: ["a"] })(checkInput({ request: request }), NOTHING_OUTSIDE)).toThrow(
      "the request names no model",
    );
  });

  test.each([
    [{}, "models"],
    [{ models: [] }, "models"],
    [{ models: "a" }, "models"],
    [{ models: [""] }, "models"],
    [{ models: [1] }, "models"],
    [{ models: ["x".repeat(501)] }, "models"],
    [{ models: Array.from({ length: 1_001 }, () => "x") }, "models"],
    [{ models: ["a"], not: "true" }, "not"],
    [{ models: ["a"], inverse: 1 }, "inverse"],
  ])("%j is refused, naming the parameter", (parameters, parameter) => {
    expect(() => modelWhitelist.prepare(parameters)).toThrow(CheckParameterError);
    expect(() => modelWhitelist.prepare(parameters)).toThrow(new RegExp(`^${parameter}: expected `));
  });
});
