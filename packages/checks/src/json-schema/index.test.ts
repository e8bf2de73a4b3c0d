import { describe, expect, test } from "vitest";
import { checkInput, NOTHING_OUTSIDE } from "../check-input.fixture.ts";
import { CheckParameterError, type CheckVerdict } from "../define.ts";
import jsonSchema from "./index.ts";

const SCHEMA = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

async function check(parameters: Record<string, unknown>, text: string): Promise<CheckVerdict> {
  return jsonSchema.prepare(parameters)(checkInput({ phase: "after", text: text }), NOTHING_OUTSIDE);
}

describe("default.jsonSchema", () => {
  test.each([
    ["valid JSON", '{"name":"x"}', true, false],
    ["JSON that is not valid", '{"name":5}', false, true],
    ["a fenced block among prose", 'Sure!\n```json\n{"name": "x"}\n```', true, false],
    ["a nested object in prose", 'It is {"name": "x", "more": {"a": 1}}.', true, false],
    ["one of two that is valid", '{"a":1} or {"name":"x"}', true, false],
    ["two that are not valid", '{"a":1} or {"name":1}', false, true],
    ["no JSON", "no idea", false, false],
    ["an empty text", "", false, false],
  ])("%s", async (_name, text, verdict, inverse) => {
    expect((await check({ schema: SCHEMA }, text)).verdict).toBe(verdict);
    expect((await check({ schema: SCHEMA, not: true }, text)).verdict).toBe(inverse);
  });

  test("says what is wrong", async () => {
    expect((await check({ schema: SCHEMA }, '{"name":5}')).data).toEqual({
      explanation: "No JSON in the text is valid under the schema.",
      not: false,
      validationErrors: [{ instancePath: "/name", keyword: "type", message: "must be string" }],
    });
    expect((await check({ schema: SCHEMA }, "none")).data).toMatchObject({ explanation: "There is no JSON in the text." });
  });

  test("runs on answers only", () => {
    expect(jsonSchema.phases).toEqual(["after"]);
  });

  test("many candidates share one bound", async () => {
    const schema = {
      items: false,
      allOf: [{ properties: { a: { items: { enum: Array.from({ length: 5_000 }, (_, index) => index) } } } }],
      required: ["b"],
    };
    const candidate = JSON.stringify({ a: Array.from({ length: 100 }, () => 4_999) });
    await expect(check({ schema }, `see ${`${candidate} `.repeat(40)}`)).rejects.toThrow("takes too long");
  });

  test.each([{}, { schema: [] }, { schema: { type: "x" } }, { schema: {}, not: "no" }])("%j is refused", (parameters) => {
    expect(() => jsonSchema.prepare(parameters)).toThrow(CheckParameterError);
  });
});
