import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileConfig } from "./compile.ts";
import { anyConfig, anyJson } from "./config.fixture.ts";
import { cutCredentials } from "./cut-credentials.ts";
import { renameAliases } from "./fields.ts";

const MOCK = { provider: "mock" };

function problemsOf(config: unknown): string[] {
  const result = compileConfig(config, "saved");
  return result.ok ? [] : result.problems.map(({ path, message }) => `${path}: ${message}`);
}

function warningsOf(config: unknown): readonly string[] {
  const result = compileConfig(config, "inline");
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config.warnings;
}

describe("typos: refused with a suggestion when saved, a warning inline (DESIGN 8.2)", () => {
  test.each<[string, string, object, string | null]>([
    ["at the root", "provder", { ...MOCK, provder: "x" }, "provider"],
    [
      "in a target",
      "targets[1].virtual_kye",
      { strategy: { mode: "single" }, targets: [MOCK, { ...MOCK, virtual_kye: 1 }] },
      "virtual_key",
    ],
    ["in retry", "retry.attempt", { ...MOCK, retry: { attempts: 1, attempt: 1 } }, "attempts"],
    ["in cache", "cache.maxage", { ...MOCK, cache: { mode: "simple", maxage: 1 } }, "max_age"],
    ["in timeouts", "timeouts.first_token", { ...MOCK, timeouts: { first_token: 1 } }, "first_token_ms"],
    ["in the strategy", "strategy.condition", { strategy: { mode: "single", condition: [] }, targets: [MOCK] }, "conditions"],
    [
      "in sticky",
      "strategy.sticky.hash_field",
      { strategy: { mode: "loadbalance", sticky: { enabled: true, hash_field: [] } }, targets: [MOCK] },
      "hash_fields",
    ],
    [
      "in hedge",
      "strategy.hedge.percentil",
      { strategy: { mode: "fallback", hedge: { delay_ms: 1, percentil: 5 } }, targets: [MOCK] },
      "percentile",
    ],
    [
      "in a breaker",
      "cb_config.minimum_request",
      { ...MOCK, cb_config: { failure_threshold: 1, cooldown_interval: 30_000, minimum_request: 1 } },
      "minimum_requests",
    ],
    ["in a hook", "before_request_hooks[0].asinc", { ...MOCK, before_request_hooks: [{ id: "h", asinc: true }] }, "async"],
    [
      "in feedback",
      "after_request_hooks[0].on_fail.feedback.wieght",
      { ...MOCK, after_request_hooks: [{ id: "h", on_fail: { feedback: { wieght: 1 } } }] },
      "weight",
    ],
    [
      "in a deployment",
      "deployments[0].is_defualt",
      { ...MOCK, deployments: [{ deployment_id: "d", alias: "a", api_version: "v", is_defualt: true }] },
      "is_default",
    ],
    ["nothing like it", "entirely_different", { ...MOCK, entirely_different: 1 }, null],
    ["a field of another place", "attempts", { ...MOCK, attempts: 1 }, null],
    ["the seal is not offered", "sealed_credential", { ...MOCK, sealed_credential: 1 }, null],
  ])("%s: %s", (_, path, config, suggestion) => {
    expect(problemsOf(config)).toEqual([`${path}: unknown field${suggestion === null ? "" : `; did you mean "${suggestion}"?`}`]);
    expect(warningsOf(config)).toEqual([path]);
  });

  test("free-form objects are nobody's typo", () => {
    const config = {
      ...MOCK,
      override_params: { anything: { deep: [{ x: 1 }] } },
      default_params: { other: 1 },
      input_guardrails: [{ "default.contains": { words: ["x"], whatever: 1 } }],
      before_request_hooks: [{ id: "h", checks: [{ id: "default.jwt", parameters: { odd: 1 }, extra: 1 }] }],
    };
    expect(problemsOf(config)).toEqual([]);
    expect(warningsOf(config)).toEqual([]);
  });

  test("what an inline config has too much is ignored, not passed on", () => {
    const result = compileConfig({ ...MOCK, secret_feature: { on: true } }, "inline");
    expect(JSON.stringify(result)).not.toContain('"on":true');
  });
});

describe("hostile configs", () => {
  test("200 levels of targets are refused, whatever is at the bottom", () => {
    let config: object = MOCK;
    for (let level = 0; level < 200; level++) config = { strategy: { mode: "single" }, targets: [config] };
    expect(problemsOf(config)).toEqual([": nested deeper than 50 levels"]);
  });

  test("100,000 levels of a parameter are refused", () => {
    let deep: object = {};
    for (let level = 0; level < 100_000; level++) deep = { a: deep };
    expect(problemsOf({ ...MOCK, override_params: deep })).toEqual([": nested deeper than 50 levels"]);
  });

  test("20 levels of targets are fine", () => {
    let config: object = MOCK;
    for (let level = 0; level < 20; level++) config = { strategy: { mode: "single" }, targets: [config] };
    expect(problemsOf(config)).toEqual([]);
  });

  test.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"])("the key %s pollutes nothing", (key) => {
    const poison = `{"polluted":"yes"}`;
    const text = `{"provider":"mock","${key}":${poison},"override_params":{"${key}":${poison}},"input_guardrails":[{"id":"g","${key}":${poison}}],
      "before_request_hooks":[{"id":"h","checks":[{"id":"c","parameters":{"${key}":${poison}},"${key}":${poison}}]}]}`;
    expect(problemsOf(JSON.parse(text))).toEqual([`${key}: unknown field`]);
    expect(warningsOf(JSON.parse(text))[0]).toBe(key);
    const result = compileConfig(JSON.parse(text), "inline");
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect("polluted" in {}).toBe(false);
    if (!result.ok) throw new Error(JSON.stringify(result.problems));
    const [leaf] = result.config.leaves;
    expect(Object.getPrototypeOf(leaf?.overrideParams)).toBe(Object.prototype);
    expect(leaf?.overrideParams?.["polluted"]).toBeUndefined();
  });

  test("50,000 unknown fields are told about twenty times, soon", { timeout: 60_000 }, () => {
    const config: Record<string, unknown> = { ...MOCK };
    for (let index = 0; index < 50_000; index++) config[`provider_organizatio${index}`] = index;
    expect(problemsOf(config)).toHaveLength(20);
    expect(warningsOf(config)).toHaveLength(20);
    const list = { ...MOCK, before_request_hooks: Array.from({ length: 1_000 }, () => ({ id: "h", odd: 1 })) };
    expect(problemsOf(list)).toHaveLength(20);
    expect(warningsOf(list)).toHaveLength(20);
  });

  test.each<[string, unknown, string]>([
    ["statuses", { ...MOCK, on_status_codes: Array.from({ length: 60_000 }, () => "x") }, "on_status_codes"],
    [
      "statuses of a retry",
      { retry: { attempts: 1, on_status_codes: Array.from({ length: 60_000 }, () => 429) } },
      "retry.on_status_codes",
    ],
    [
      "hooks of a target",
      { strategy: { mode: "single" }, targets: [{ before_request_hooks: Array.from({ length: 1_001 }, () => ({ id: "h" })) }] },
      "targets[0].before_request_hooks",
    ],
  ])("too many %s are counted, not read", (_, config, path) => {
    expect(problemsOf(config)).toEqual([
      expect.stringMatching(new RegExp(`^${path.replaceAll(/[.[\]]/g, "\\$&")}: at most 1000 items, found`)),
    ]);
  });

  test("texts of a megabyte are not repeated", () => {
    const long = "p".repeat(1024 * 1024);
    const configs = [
      { provider: long },
      { ...MOCK, [long]: 1 },
      { ...MOCK, name: long, retry: { attempts: 1, [long]: 1 } },
      { ...MOCK, input_guardrails: [{ [long]: "x" }] },
      { ...MOCK, drop_params: [long] },
      { ...MOCK, cache: long },
      { strategy: { mode: long }, targets: [MOCK] },
      { ...MOCK, [long]: Array.from({ length: 1_001 }, () => 1) },
    ];
    for (const config of configs) {
      expect(problemsOf(config).join("").length).toBeGreaterThan(10);
      expect(problemsOf(config).join("").length).toBeLessThan(1_000);
    }
    expect(warningsOf({ ...MOCK, [long]: 1 }).join("").length).toBeLessThan(200);
  });

  test("whatever JSON it is, the answer is a config or problems, soon", { timeout: 60_000 }, () => {
    fc.assert(
      fc.property(fc.oneof(anyJson, anyConfig), fc.constantFrom("saved", "inline"), (config, origin) => {
        const began = process.cpuUsage();
        const result = compileConfig(cutCredentials(renameAliases(config)).config, origin);
        const { user, system } = process.cpuUsage(began);
        expect((user + system) / 1_000).toBeLessThan(2_000);
        if (!result.ok) expect(result.problems.length).toBeGreaterThan(0);
        for (const { path, message } of result.ok ? [] : result.problems) expect(path.length + message.length).toBeLessThan(10_000);
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  test("the value of a wrong credential is not repeated", () => {
    const text = JSON.stringify([
      compileConfig({ provider: "openai", api_key: ["hush"] }, "saved"),
      compileConfig({ provider: "openai", cloudb_service_account_json: ["hush"] }, "inline"),
    ]);
    expect(text).not.toContain("hush");
  });
});
