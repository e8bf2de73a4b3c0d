import { CancelToken, type CompiledLeaf, GatewayError, type GuardrailResource, type HookRule, type JsonObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import type { Run } from "../run-state.ts";
import { effectiveHook, resolveHooks } from "./resolve-hooks.ts";

const rule = (id: string, json: JsonObject | null = null): HookRule => ({
  id,
  inlineJson: json === null ? null : Buffer.from(JSON.stringify({ id, ...json })),
});
const check = (parameters: JsonObject = {}, over: JsonObject = {}) => ({ id: "default.contains", parameters, is_enabled: true, ...over });
const STRICT = check({ failOnError: true });

function saved(actions: JsonObject, checks: readonly JsonObject[] = [check()]): GuardrailResource {
  return { id: "pg-a", name: "a", organisation_id: "o", workspace_id: null, actions, checks: checks as GuardrailResource["checks"] };
}

describe("a saved guardrail", () => {
  test.each<[JsonObject | null, JsonObject, readonly JsonObject[], [async: boolean, mayDeny: boolean, whenErrored: string]]>([
    [null, {}, [check()], [false, false, "pass"]],
    [null, { deny: true }, [check()], [false, true, "pass"]],
    [null, { on_fail: { deny: true } }, [check()], [false, true, "pass"]],
    [null, { deny: false, on_fail: { deny: true } }, [check()], [false, false, "pass"]],
    [null, { on_success: { deny: true } }, [check()], [false, true, "deny"]],
    [null, { async: true, deny: true }, [STRICT], [true, false, "pass"]],
    [null, { deny: true }, [check(), STRICT], [false, true, "deny"]],
    [null, {}, [STRICT], [false, false, "soft"]],
    [null, { deny: true }, [{ ...STRICT, is_enabled: false }], [false, false, "pass"]],
    [null, { deny: true }, [], [false, false, "pass"]],
    [{ deny: false }, { deny: true }, [STRICT], [false, false, "soft"]],
    [{ deny: true }, {}, [STRICT], [false, true, "deny"]],
    [{ async: false }, { async: true, deny: true }, [check()], [false, true, "pass"]],
    [{ async: true }, { deny: true }, [check()], [true, false, "pass"]],
    [{ on_success: { feedback: { value: 1 } } }, { on_success: { deny: true } }, [check()], [false, false, "pass"]],
  ])("named by %j, saved as %j with %j", (config, actions, checks, expected) => {
    const hook = effectiveHook(rule("pg-a", config), saved(actions, checks));
    expect([hook.async, hook.mayDeny, hook.whenErrored]).toEqual(expected);
  });

  test.each<[JsonObject | null, [async: boolean, mayDeny: boolean, whenErrored: string]]>([
    [null, [false, true, "pass"]],
    [{ deny: false }, [false, true, "pass"]],
    [{ async: true }, [true, false, "pass"]],
  ])("that cannot be had goes by the config, %j, and might deny", (config, expected) => {
    const hook = effectiveHook(rule("pg-a", config), null);
    expect([hook.async, hook.mayDeny, hook.whenErrored]).toEqual(expected);
  });
});

test.each<[JsonObject, [async: boolean, mayDeny: boolean, whenErrored: string]]>([
  [{ checks: [check()], deny: true }, [false, true, "pass"]],
  [{ checks: [check()] }, [false, false, "pass"]],
  [{ checks: [STRICT], deny: true }, [false, true, "deny"]],
  [{ checks: [STRICT], async: true, deny: true }, [true, false, "pass"]],
  [{ checks: [], deny: true }, [false, false, "pass"]],
])("a hook with its own checks, %j", (json, expected) => {
  const hook = effectiveHook(rule("h", json), null);
  expect([hook.async, hook.mayDeny, hook.whenErrored]).toEqual(expected);
});

test("headers that may not be passed on are not asked for", () => {
  const checks = [
    check({ forwardHeaders: ["X-Team", "authorization", 5] }),
    check({ forwardHeaders: "x" }),
    check({}, { parameters: null }),
  ];
  expect(effectiveHook(rule("h", { checks }), null).forwardHeaders).toEqual(["x-team"]);
});

describe("finding them", () => {
  function running(found: GuardrailResource | null | Error, known: boolean): { run: Run; asked: string[]; cancel: CancelToken } {
    const asked: string[] = [];
    const cancel = new CancelToken();
    const resolution = found === null || found instanceof Error ? null : { value: found, sealed: undefined, version: "1" };
    const resolver = {
      peek: () => (known ? resolution : undefined),
      resolve: ({ id }: { id: string }) => {
        asked.push(id);
        return found instanceof Error ? Promise.reject(found) : Promise.resolve(resolution);
      },
    };
    const run = {
      deps: { resolver, log: { warn() {} } },
      request: { principal: { tenant: { organisationId: "o", workspaceId: "w" } }, trace: { traceId: "t" } },
      call: { cancel },
    } as unknown as Run;
    return { run, asked, cancel };
  }
  const leaf = (before: readonly HookRule[], after: readonly HookRule[] = []): CompiledLeaf =>
    ({ beforeHooks: before, afterHooks: after }) as CompiledLeaf;

  test("what is known is not asked for, and read once until it changes", async () => {
    const rules = leaf([rule("pg-a")]);
    const { run, asked } = running(saved({ async: true }), true);
    const first = await resolveHooks(run, rules);
    expect(first.before.map((hook) => hook.async)).toEqual([true]);
    expect((await resolveHooks(run, rules)).before[0]).toBe(first.before[0]);
    const changed = await resolveHooks(running(saved({ async: false }), true).run, rules);
    expect(changed.before.map((hook) => hook.async)).toEqual([false]);
    expect(asked).toEqual([]);
  });

  test("what is not known is, but never for a hook with its own checks", async () => {
    const { run, asked } = running(saved({ deny: true }), false);
    const { before, after } = await resolveHooks(run, leaf([rule("h", { checks: [check()] })], [rule("pg-a", { async: false })]));
    expect([before[0]?.mayDeny, after[0]?.mayDeny, asked]).toEqual([false, true, ["pg-a"]]);
  });

  test("without control it is taken as one that may deny", async () => {
    const { run } = running(new GatewayError("service_unavailable"), false);
    expect((await resolveHooks(run, leaf([rule("pg-a")]))).before[0]).toMatchObject({ mayDeny: true, async: false, whenErrored: "pass" });
  });

  test("a request that was given up goes no further", async () => {
    const { run, cancel } = running(new GatewayError("client_closed"), false);
    cancel.cancel("client_gone");
    await expect(resolveHooks(run, leaf([rule("pg-a")]))).rejects.toThrow(GatewayError);
  });
});
