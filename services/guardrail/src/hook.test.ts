import { expect, test } from "vitest";
import { readHook, savedHookJson } from "./hook.ts";

const NONE = { deny: false, feedback: null };

test("a bare hook gets its defaults", () => {
  expect(readHook("h", { checks: [{ id: "default.contains" }] })).toEqual({
    id: "h",
    type: "guardrail",
    checks: [{ id: "default.contains", parameters: {} }],
    deny: false,
    async: false,
    sequential: false,
    onSuccess: NONE,
    onFail: NONE,
  });
});

test("a full hook is read", () => {
  const hook = readHook("h", {
    type: "mutator",
    deny: true,
    async: true,
    sequential: true,
    checks: [{ id: "a", parameters: { x: 1 }, is_enabled: true }, { id: "b", is_enabled: false }, "nonsense"],
    on_success: { deny: true, feedback: { value: 5, weight: 0.5, metadata: { by: "x" } } },
    on_fail: { feedback: { value: -5 } },
  });
  expect(hook).toEqual({
    id: "h",
    type: "mutator",
    checks: [{ id: "a", parameters: { x: 1 } }],
    deny: true,
    async: true,
    sequential: true,
    onSuccess: { deny: true, feedback: { value: 5, weight: 0.5, metadata: { by: "x" } } },
    onFail: { deny: false, feedback: { value: -5, weight: 1, metadata: {} } },
  });
});

test.each([
  [{}, false],
  [{ deny: true }, true],
  [{ on_fail: { deny: true } }, true],
  [{ deny: false, on_fail: { deny: true } }, false],
])("%j denies: %s", (json, deny) => {
  expect(readHook("h", json).deny).toBe(deny);
});

test("a config overrides a saved guardrail's actions, never its checks", () => {
  const saved = savedHookJson(
    [{ id: "a" }],
    { deny: true, sequential: true, on_fail: { feedback: { value: -1 } } },
    {
      id: "pg-1",
      deny: false,
      on_fail: { deny: true },
      guardrail_version_id: "7",
    },
  );
  expect(saved).toEqual({ checks: [{ id: "a" }], deny: false, sequential: true, on_fail: { deny: true } });
});
