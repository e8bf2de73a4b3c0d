import { describe, expect, test } from "vitest";
import { jsonOf } from "../json.ts";
import { guardrailRule, hookRule, namesChecks } from "./hooks.ts";
import type { HookRule } from "./types.ts";

/** A rule with its JSON read, as the guardrail service does. */
function read({ id, inlineJson }: HookRule): { id: string; json: unknown } {
  return { id, json: inlineJson === null ? null : JSON.parse(inlineJson.toString()) };
}

describe("hooks (behaviour 7.1)", () => {
  test("only an id is a saved guardrail", () => {
    expect(read(hookRule({ id: "pg-a" }))).toEqual({ id: "pg-a", json: null });
  });

  test("an id with actions overrides the saved ones", () => {
    const hook = { id: "pg-a", deny: true, async: true };
    expect(read(hookRule(hook))).toEqual({ id: "pg-a", json: hook });
  });

  test("checks travel as they are", () => {
    const hook = { id: "h", type: "mutator", sequential: true, checks: [{ id: "default.regexReplace", parameters: { rule: "x" } }] };
    expect(read(hookRule(hook))).toEqual({ id: "h", json: hook });
  });

  test.each([
    [{ on_fail: { deny: true } }, true],
    [{ on_fail: { deny: false } }, false],
    [{ deny: false, on_fail: { deny: true } }, false],
    [{ deny: true, on_fail: { deny: false } }, true],
    [{ on_fail: { feedback: { value: 1 } } }, undefined],
    [{ on_success: { deny: true } }, undefined],
    [{}, undefined],
  ])("%j denies: %s", (actions, deny) => {
    expect(read(hookRule({ id: "h", checks: [], ...actions })).json).toMatchObject(deny === undefined ? {} : { deny });
    expect(Object.hasOwn(read(hookRule({ id: "h", checks: [], ...actions })).json as object, "deny")).toBe(deny !== undefined);
  });
});

describe("guardrails (behaviour 7.1)", () => {
  test("a text is a saved guardrail", () => {
    expect(read(guardrailRule("pg-a", "input"))).toEqual({ id: "pg-a", json: null });
  });

  test("every further property is a check; without a dot it is a default one", () => {
    const item = {
      id: "words",
      deny: true,
      contains: { operator: "any", words: ["x"] },
      "acme.scan": { level: 2 },
      on_fail: { feedback: { value: -1 } },
    };
    expect(read(guardrailRule(item, "input"))).toEqual({
      id: "words",
      json: {
        type: "guardrail",
        id: "words",
        deny: true,
        on_fail: { feedback: { value: -1 } },
        checks: [
          { id: "default.contains", parameters: { operator: "any", words: ["x"] }, is_enabled: true },
          { id: "acme.scan", parameters: { level: 2 }, is_enabled: true },
        ],
      },
    });
  });

  test("listed checks come before written ones", () => {
    const rule = guardrailRule({ id: "g", checks: [{ id: "first" }], second: {} }, "output");
    expect(read(rule).json).toMatchObject({ checks: [{ id: "first" }, { id: "default.second" }] });
  });

  test("every field of its own is no check", () => {
    const item = {
      id: "g",
      type: "mutator",
      deny: false,
      on_fail: {},
      on_success: {},
      async: true,
      sequential: true,
      guardrail_version_id: "v1",
      checks: [{ id: "a" }],
    };
    expect(read(guardrailRule(item, "input"))).toEqual({ id: "g", json: item });
  });

  test("an id is made of the content and the phase", () => {
    const item = { contains: { words: ["x"] } };
    const input = guardrailRule(item, "input").id;
    expect(input).toMatch(/^input_guardrail_[0-9a-f]{8}$/);
    expect(guardrailRule(structuredClone(item), "input").id).toBe(input);
    expect(guardrailRule(item, "output").id).toMatch(/^output_guardrail_[0-9a-f]{8}$/);
    expect(guardrailRule({ contains: { words: ["y"] } }, "input").id).not.toBe(input);
  });

  test("a saved guardrail with other actions keeps its id and brings no checks", () => {
    const { json } = read(guardrailRule({ id: "pg-a", deny: true }, "input"));
    expect(json).toEqual({ type: "guardrail", id: "pg-a", deny: true });
  });

  test("the item itself is not changed, and the parsed form is remembered", () => {
    const item = Object.freeze({ id: "g", checks: Object.freeze([]), second: Object.freeze({}) });
    const rule = guardrailRule(item, "input");
    if (rule.inlineJson === null) throw new Error("no JSON");
    expect(jsonOf(rule.inlineJson)).toEqual(JSON.parse(rule.inlineJson.toString()));
  });
});

test.each([
  [{ id: "pg-a" }, true],
  [{ contains: {} }, true],
  [{ checks: [{ id: "a" }] }, true],
  [{}, false],
  [{ checks: [] }, false],
  [{ deny: true, async: true, on_fail: {} }, false],
])("%j says what to run: %s", (item, says) => {
  expect(namesChecks(item)).toBe(says);
});
