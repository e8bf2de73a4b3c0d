import { describe, expect, test } from "vitest";
import { type CompileResult, compileConfig } from "./compile.ts";
import { renameAliases } from "./fields.ts";
import type { CompiledConfig, Destination } from "./types.ts";

const MOCK = { provider: "mock" };
const HOOK = { id: "h", checks: [{ id: "default.contains", parameters: { operator: "any", words: ["x"] } }] };

function compiled(config: unknown, origin: "saved" | "inline" = "saved"): CompiledConfig {
  const result = compileConfig(config, origin);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

function problems(result: CompileResult): string[] {
  return result.ok ? [] : result.problems.map(({ path, message }) => `${path}: ${message}`);
}

describe("what makes a config valid (spec 2.1, DESIGN 8.1)", () => {
  const valid: [string, object][] = [
    ["provider + api_key", { provider: "openai", api_key: "k" }],
    ["provider + custom_host", { provider: "openai", custom_host: "https://models.example.com/v1" }],
    ["provider @slug", { provider: "@main" }],
    ["provider @slug/model", { provider: "@main/gpt" }],
    ["keyless mock", { provider: "mock" }],
    ["keyless ollama", { provider: "ollama" }],
    ["keyless triton", { provider: "triton" }],
    ["virtual_key", { virtual_key: "main" }],
    ["strategy + targets", { strategy: { mode: "fallback" }, targets: [MOCK] }],
    ["cache", { cache: { mode: "simple" } }],
    ["retry", { retry: { attempts: 3 } }],
    ["prompt_id", { prompt_id: "pp-greeting" }],
    ["forward_headers", { forward_headers: ["x-tenant"] }],
    ["request_timeout", { request_timeout: 5_000 }],
    ["first cloud", { provider: "bedrock", cloud_access_key_id: "a", cloud_secret_access_key: "b" }],
    ["first cloud, assumed role", { provider: "bedrock", cloud_role_arn: "arn:aws:iam::1:role/x", cloud_external_id: "e" }],
    ["second cloud, account", { provider: "vertex-ai", cloudb_region: "r", cloudb_service_account_json: { type: "service_account" } }],
    ["second cloud, account as text", { provider: "vertex-ai", cloudb_region: "r", cloudb_service_account_json: "{}" }],
    ["second cloud, project", { provider: "vertex-ai", cloudb_region: "r", cloudb_project_id: "p" }],
    [
      "third cloud, deployment",
      {
        provider: "azure-ai",
        cloudc_deployment_name: "d",
        cloudc_deployment_type: "serverless",
        cloudc_region: "r",
        cloudc_api_version: "2024-10-21",
      },
    ],
    ["third cloud, endpoint", { provider: "azure-ai", cloudc_endpoint_name: "e", cloudc_deployment_type: "managed" }],
    ["third cloud, auth mode", { provider: "azure-openai", cloudc_auth_mode: "entra", cloudc_entra_tenant_id: "t" }],
    ["before_request_hooks", { before_request_hooks: [HOOK] }],
    ["after_request_hooks", { after_request_hooks: [HOOK] }],
    ["input_guardrails, an id", { input_guardrails: ["pg-words"] }],
    ["output_guardrails, checks", { output_guardrails: [{ "default.contains": { operator: "any", words: ["x"] }, deny: true }] }],
    ["passthrough", { passthrough: true }],
    ["default_params", { default_params: { temperature: 0 } }],
    ["drop_params", { drop_params: ["user", "messages[*].name", "tools.0.strict"] }],
    ["a model that names a saved provider", { override_params: { model: "@main/gpt" } }],
    ["empty lists", { forward_headers: [], drop_params: [], input_guardrails: [] }],
  ];

  test.each(valid)("%s", (_, config) => {
    expect(problems(compileConfig(config, "saved"))).toEqual([]);
    expect(problems(compileConfig(config, "inline"))).toEqual([]);
  });

  test.each([
    ["provider + api_key", { provider: "openai", api_key: "k" }],
    ["a cloud key pair", { provider: "bedrock", cloud_access_key_id: "a", cloud_secret_access_key: "b" }],
    ["virtual_key", { virtual_key: "main" }],
    ["passthrough", { passthrough: true }],
    ["passthrough with params", { passthrough: true, override_params: { temperature: 0 } }],
    ["prompt_id", { prompt_id: "pp-greeting" }],
    ["a nested strategy", { strategy: { mode: "single" }, targets: [MOCK] }],
    ["a model that names a saved provider", { override_params: { model: "@main/gpt" } }],
  ])("a target with %s", (_, target) => {
    expect(problems(compileConfig({ strategy: { mode: "fallback" }, targets: [target, MOCK] }, "saved"))).toEqual([]);
  });

  test("everything that DESIGN 8.2 adds, and every field of spec 2.1 at once", () => {
    const config = {
      name: "all",
      strategy: {
        mode: "loadbalance",
        select: "least_latency",
        sticky: { enabled: true, hash_fields: ["metadata.user", "params.user", "headers.x-session"], ttl: 60 },
        hedge: { delay_ms: 500, max_extra_percent: 5 },
        cb_config: { failure_threshold_percentage: 50, minimum_requests: 10, cooldown_interval: 30_000, failure_status_codes: [500] },
        on_status_codes: [429],
      },
      strict_compat_compliance: false,
      override_params: { temperature: 0 },
      default_params: { max_tokens: 5 },
      drop_params: ["user"],
      request_timeout: 1_000,
      timeouts: { connect_ms: 1, first_token_ms: 2, idle_ms: 3 },
      cache: { mode: "semantic", max_age: 600, threshold: 0.9, embedding: { provider: "@main" } },
      retry: { attempts: 5, on_status_codes: [429], use_retry_after_headers: true },
      cb_config: { failure_threshold: 3, cooldown_interval: 60_000 },
      on_status_codes: [429, "503", 446, 246],
      forward_headers: ["X-Tenant"],
      before_request_hooks: [
        { ...HOOK, type: "guardrail", deny: true, on_fail: { feedback: { value: -1, weight: 1, metadata: {} }, deny: true } },
      ],
      after_request_hooks: [{ ...HOOK, async: true, on_success: { feedback: { value: 1 } } }],
      targets: [
        {
          provider: "azure-openai",
          api_key: "k",
          name: "one",
          weight: 0.5,
          resource_name: "r",
          deployment_id: "d",
          api_version: "v",
          deployments: [{ deployment_id: "d", alias: "a", api_version: "v", is_default: true }],
          cloudc_entra_scope: "s",
          cloudc_foundry_url: "https://foundry.example.com",
        },
      ],
    };
    expect(problems(compileConfig(config, "saved"))).toEqual([]);
    expect(compiled(config, "inline").warnings).toEqual([]);
  });
});

describe("what is refused, where and why", () => {
  const nothing = "expected at least one of provider";
  const nowhere = "a target must name where it goes";
  const credential = "needs a credential";
  const both: [string, unknown, string][] = [
    ["no object", [], "expected a JSON object, found an array"],
    ["null", null, "expected a JSON object, found null"],
    ["nothing", undefined, "expected a JSON object, found nothing"],
    ["nothing in it", {}, nothing],
    ["only a name", { name: "x" }, nothing],
    ["only override_params", { override_params: { temperature: 0 } }, nothing],
    ["only a Workers AI model", { override_params: { model: "@cf/meta/llama" } }, nothing],
    ["only an api_key", { api_key: "k" }, nothing],
    ["only a weight", { weight: 1 }, nothing],
    ["a target without destination", { strategy: { mode: "single" }, targets: [{ weight: 1 }] }, `targets[0]: ${nowhere}`],
    ["a target that only decorates", { strategy: { mode: "single" }, targets: [{ retry: { attempts: 1 } }] }, `targets[0]: ${nowhere}`],
    [
      "a nested target without destination",
      { strategy: { mode: "single" }, targets: [{ strategy: { mode: "single" }, targets: [MOCK, {}] }] },
      `targets[0].targets[1]: ${nowhere}`,
    ],
    ["targets without strategy", { targets: [MOCK] }, "strategy: expected a strategy beside targets"],
    ["a strategy without targets", { strategy: { mode: "fallback" } }, "targets: a strategy needs a list of targets"],
    ["no targets", { strategy: { mode: "fallback" }, targets: [] }, "targets: expected at least 1 item"],
    ["targets that are no list", { strategy: { mode: "fallback" }, targets: {} }, "targets: expected a list, found object"],
    ["a target that is a name", { strategy: { mode: "fallback" }, targets: ["@a"] }, "targets[0]: expected an object, found string"],
    ["no mode", { strategy: {}, targets: [MOCK] }, 'strategy.mode: expected one of "single", "loadbalance", "fallback", "conditional"'],
    ["an unknown mode", { strategy: { mode: "random" }, targets: [MOCK] }, "strategy.mode: expected one of"],
    ["conditional mode", { strategy: { mode: "conditional" }, targets: [MOCK] }, "strategy.conditions: conditional mode needs conditions"],
    ["only zero weights", { strategy: { mode: "loadbalance" }, targets: [{ ...MOCK, weight: 0 }] }, "targets: every weight is 0"],
    ["a negative weight", { ...MOCK, weight: -1 }, "weight: expected at least 0"],
    [
      "select elsewhere",
      { strategy: { mode: "fallback", select: "weighted" }, targets: [MOCK] },
      'strategy.select: can only be combined with mode "loadbalance"',
    ],
    [
      "an empty hedge",
      { strategy: { mode: "fallback", hedge: {} }, targets: [MOCK] },
      "strategy.hedge: expected either delay_ms or percentile",
    ],
    [
      "a hedge of single",
      { strategy: { mode: "single", hedge: { delay_ms: 1 } }, targets: [MOCK] },
      'strategy.hedge: can only be combined with mode "fallback" or "loadbalance"',
    ],
    [
      "a hedge with both",
      { strategy: { mode: "fallback", hedge: { delay_ms: 1, percentile: 90 } }, targets: [MOCK] },
      "strategy.hedge: expected either",
    ],
    [
      "a sticky field of nowhere",
      { strategy: { mode: "loadbalance", sticky: { enabled: true, hash_fields: ["user"] } }, targets: [MOCK] },
      "strategy.sticky.hash_fields[0]: expected a field that starts with metadata., params. or headers.",
    ],
    [
      "a status of 99",
      { strategy: { mode: "fallback", on_status_codes: [99] }, targets: [MOCK] },
      "strategy.on_status_codes[0]: expected at least 100",
    ],
    ["a status of 600", { ...MOCK, retry: { attempts: 1, on_status_codes: [600] } }, "retry.on_status_codes[0]: expected at most 599"],
    ["a status in words", { ...MOCK, on_status_codes: ["busy"] }, "on_status_codes[0]: expected a status from 100 to 599"],
    ["a status of 999 as text", { ...MOCK, on_status_codes: ["999"] }, "on_status_codes[0]: expected a status from 100 to 599"],
    ["retry without attempts", { retry: {} }, "retry.attempts: expected a number, found nothing"],
    ["negative attempts", { retry: { attempts: -1 } }, "retry.attempts: expected at least 0"],
    ["half an attempt", { retry: { attempts: 1.5 } }, "retry.attempts: expected a whole number"],
    ["an unknown cache", { cache: { mode: "fast" } }, 'cache.mode: expected one of "simple", "semantic"'],
    ["a cache threshold over 1", { cache: { mode: "semantic", threshold: 2 } }, "cache.threshold: expected at most 1"],
    ["a breaker without threshold", { ...MOCK, cb_config: { cooldown_interval: 30_000 } }, "cb_config: expected failure_threshold or"],
    [
      "a breaker's short cooldown",
      { ...MOCK, cb_config: { failure_threshold: 1, cooldown_interval: 1 } },
      "cb_config.cooldown_interval: expected at least 30000",
    ],
    [
      "a threshold of 0",
      { ...MOCK, cb_config: { failure_threshold: 0, cooldown_interval: 30_000 } },
      "cb_config.failure_threshold: expected at least 1",
    ],
    [
      "a strategy's breaker without threshold",
      { strategy: { mode: "fallback", cb_config: { cooldown_interval: 30_000 } }, targets: [MOCK] },
      "strategy.cb_config: expected failure_threshold or",
    ],
    ["a timeout of 0", { request_timeout: 0 }, "request_timeout: expected at least 1"],
    ["a timeout as text", { request_timeout: "5s" }, "request_timeout: expected a number, found string"],
    ["a timeout longer than timers wait", { request_timeout: 3e9 }, "request_timeout: expected at most 2147483647"],
    ["an idle time longer than timers wait", { ...MOCK, timeouts: { idle_ms: 3e9 } }, "timeouts.idle_ms: expected at most 2147483647"],
    ["an empty provider", { provider: "" }, "provider: expected text that is not empty"],
    ["an empty drop path", { ...MOCK, drop_params: [""] }, "drop_params[0]: expected text that is not empty"],
    ["a broken drop path", { ...MOCK, drop_params: ["a", "a[b]"] }, "drop_params[1]: expected a path such as"],
    ["an endless drop path", { ...MOCK, drop_params: ["a".repeat(501)] }, "drop_params[0]: a path is at most 500 characters"],
    ["a hook without id", { before_request_hooks: [{}] }, "before_request_hooks[0].id: expected text, found nothing"],
    ["a check without id", { before_request_hooks: [{ id: "h", checks: [{}] }] }, "before_request_hooks[0].checks[0].id: expected text"],
    ["a guardrail of nothing", { input_guardrails: [{ deny: true }] }, "input_guardrails[0]: expected an id or at least one check"],
    ["a guardrail that is a number", { input_guardrails: [1] }, "input_guardrails[0]: expected a guardrail id or an object with checks"],
    [
      "a check without parameters",
      { output_guardrails: [{ contains: "x" }] },
      "output_guardrails[0].contains: expected an object, found string",
    ],
    [
      "an unknown deployment type",
      { ...MOCK, cloudc_deployment_type: "x" },
      'cloudc_deployment_type: expected one of "serverless", "managed"',
    ],
    [
      "an account that is a number",
      { ...MOCK, cloudb_service_account_json: 1 },
      "cloudb_service_account_json: expected an object, or its JSON as text",
    ],
    [
      "an incomplete deployment",
      { ...MOCK, deployments: [{ alias: "a", api_version: "v" }] },
      "deployments[0].deployment_id: expected text",
    ],
    [
      "passthrough with targets",
      { passthrough: true, strategy: { mode: "single" }, targets: [MOCK] },
      "targets: cannot be combined with a top-level passthrough",
    ],
    ["passthrough with override_params", { passthrough: true, override_params: { n: 1 } }, "override_params: cannot be combined"],
    ["passthrough with guardrails", { passthrough: true, output_guardrails: ["pg-x"] }, "output_guardrails: cannot be combined"],
    ["passthrough with hooks", { passthrough: true, before_request_hooks: [HOOK] }, "before_request_hooks: cannot be combined"],
  ];

  test.each(both)("%s", (_, config, problem) => {
    for (const origin of ["saved", "inline"] as const) {
      const found = problems(compileConfig(config, origin)).map((text) => text.replace(/^: /, ""));
      expect(
        found.some((text) => text.startsWith(problem)),
        `expected "${problem}" in ${JSON.stringify(found)}`,
      ).toBe(true);
    }
  });

  test.each([
    ["a plain provider", { provider: "openai" }],
    ["half a key pair", { provider: "bedrock", cloud_access_key_id: "a" }],
    ["a region alone", { provider: "vertex-ai", cloudb_region: "r" }],
    ["a project without region", { provider: "vertex-ai", cloudb_project_id: "p" }],
    [
      "a deployment without version",
      { provider: "azure-ai", cloudc_deployment_name: "d", cloudc_deployment_type: "managed", cloudc_region: "r" },
    ],
    ["an endpoint without type", { provider: "azure-ai", cloudc_endpoint_name: "e" }],
  ])("%s without credential: refused when saved, the caller may bring one inline", (_, config) => {
    expect(problems(compileConfig(config, "saved"))).toEqual([expect.stringContaining(`provider: "${config.provider}" ${credential}`)]);
    expect(problems(compileConfig(config, "inline"))).toEqual([]);
  });

  test("more than 5 attempts: refused when saved, clamped inline", () => {
    const config = { ...MOCK, retry: { attempts: 6 } };
    expect(problems(compileConfig(config, "saved"))).toEqual(["retry.attempts: expected at most 5"]);
    expect(compiled(config, "inline").leaves[0]?.retry?.attempts).toBe(5);
  });

  test("sealed credentials stand for a credential", () => {
    const { leaves } = compiled({ provider: "openai", sealed_credentials: "c2VhbGVk" });
    expect(leaves[0]?.sealedCredentials).toBe("c2VhbGVk");
  });
});

test.each<[string, object, Destination]>([
  ["a plain provider", { provider: "mock" }, { kind: "provider", provider: "mock" }],
  ["a slug", { provider: "@main" }, { kind: "slug", slug: "main" }],
  ["a slug with a model", { provider: "@main/gpt" }, { kind: "slug", slug: "main" }],
  ["a virtual key", { virtual_key: "main" }, { kind: "slug", slug: "main" }],
  ["a virtual key written as a slug", { virtual_key: "@main" }, { kind: "slug", slug: "main" }],
  ["a slug over a virtual key", { provider: "@main", virtual_key: "other" }, { kind: "slug", slug: "main" }],
  ["a virtual key over a plain provider", { provider: "mock", virtual_key: "main" }, { kind: "slug", slug: "main" }],
  ["a virtual key over a model's slug", { virtual_key: "main", override_params: { model: "@other/gpt" } }, { kind: "slug", slug: "main" }],
  ["a model's slug over a plain provider", { provider: "mock", override_params: { model: "@main/gpt" } }, { kind: "slug", slug: "main" }],
  [
    "a Workers AI model names no slug",
    { provider: "mock", override_params: { model: "@cf/meta/llama" } },
    { kind: "provider", provider: "mock" },
  ],
  [
    "a model without slash names no slug",
    { provider: "mock", override_params: { model: "@main" } },
    { kind: "provider", provider: "mock" },
  ],
  ["passthrough", { passthrough: true }, { kind: "passthrough" }],
  ["passthrough over a provider", { passthrough: true, provider: "mock" }, { kind: "passthrough" }],
  ["passthrough that is off", { passthrough: false, provider: "mock" }, { kind: "provider", provider: "mock" }],
  ["a prompt", { prompt_id: "pp-a" }, { kind: "prompt", promptId: "pp-a" }],
  ["a prompt over a provider", { prompt_id: "pp-a", provider: "@main" }, { kind: "prompt", promptId: "pp-a" }],
  ["nothing of its own", { retry: { attempts: 1 } }, { kind: "request" }],
])("destination: %s", (_, config, destination) => {
  expect(compiled(config).leaves[0]?.destination).toEqual(destination);
});

describe("leaves", () => {
  test("are numbered in order and carry their option path and name", () => {
    const { leaves, root } = compiled({
      strategy: { mode: "fallback" },
      targets: [
        { ...MOCK, name: "first" },
        { strategy: { mode: "loadbalance" }, targets: [MOCK, { strategy: { mode: "single" }, targets: [MOCK] }, MOCK] },
        { ...MOCK, name: "last" },
      ],
    });
    expect(leaves.map(({ index, optionPath, name }) => [index, optionPath, name])).toEqual([
      [0, "config.targets[0]", "first"],
      [1, "config.targets[1].targets[0]", ""],
      [2, "config.targets[1].targets[1].targets[0]", ""],
      [3, "config.targets[1].targets[2]", ""],
      [4, "config.targets[2]", "last"],
    ]);
    expect(root.kind).toBe("fallback");
  });

  test("a config without strategy is one leaf", () => {
    const config = compiled(MOCK);
    expect(config.root).toEqual({ kind: "leaf", leaf: 0, optionPath: "config" });
    expect(config.needsRouter).toBe(false);
  });

  test("provider, credentials, weight and name are never handed down", () => {
    const { leaves } = compiled({
      provider: "openai",
      api_key: "k",
      sealed_credentials: "AA==",
      virtual_key: "main",
      name: "parent",
      weight: 3,
      resource_name: "r",
      strategy: { mode: "loadbalance" },
      targets: [MOCK],
    });
    expect(leaves).toHaveLength(1);
    expect(leaves[0]).toMatchObject({ destination: { kind: "provider", provider: "mock" }, sealedCredentials: null, name: "" });
    expect(leaves[0]?.settingsJson).toHaveLength(0);
  });

  test("settings are JSON of the non-secret provider fields", () => {
    const { leaves } = compiled({ provider: "azure-openai", api_key: "k", resource_name: "r", cloudc_region: "x", weight: 1 });
    expect(JSON.parse(String(leaves[0]?.settingsJson))).toEqual({ resource_name: "r", cloudc_region: "x" });
  });

  test("no leaf holds a credential", () => {
    const config = compiled({ provider: "bedrock", api_key: "hush-1", cloud_access_key_id: "hush-2", cloud_secret_access_key: "hush-3" });
    const everything = JSON.stringify(config, (_, value: unknown) => (Buffer.isBuffer(value) ? value.toString() : value));
    expect(everything).not.toContain("hush");
    expect(config.leaves.map((leaf) => leaf.settingsJson.toString()).join("")).not.toContain("hush");
  });
});

describe("the router is asked only for what replicas have to know of each other", () => {
  test.each([
    [{ mode: "single" }, false],
    [{ mode: "fallback" }, false],
    [{ mode: "loadbalance" }, false],
    [{ mode: "loadbalance", select: "weighted" }, false],
    [{ mode: "loadbalance", select: "least_latency" }, true],
  ] as const)("%j: %s", (strategy, needed) => {
    expect(compiled({ strategy, targets: [MOCK] }).needsRouter).toBe(needed);
    expect(compiled({ strategy: { mode: "fallback" }, targets: [MOCK, { strategy, targets: [MOCK] }] }).needsRouter).toBe(needed);
  });
});

describe("numbers of targets (behaviour 1.2)", () => {
  const fallback = (targets: unknown[]) => ({ strategy: { mode: "fallback" }, targets });
  const many = (count: number) => Array.from({ length: count }, () => MOCK);

  const conditional = (targets: unknown[]) => ({
    strategy: { mode: "conditional", conditions: [{ query: {}, then: "a" }], default: "a" },
    targets: [{ ...MOCK, name: "a" }, ...targets],
  });
  const below = (found: number) => `at most 50 targets at all depths below one target of the root, found ${found}`;

  test.each(["saved", "inline"] as const)("100 at the root, 50 below each of them (%s)", (origin) => {
    expect(compiled(fallback(many(100)), origin).leaves).toHaveLength(100);
    expect(compiled(fallback([fallback(many(50)), fallback(many(50))]), origin).leaves).toHaveLength(100);
    expect(problems(compileConfig(fallback(many(101)), origin))).toEqual(["targets: at most 100 targets, found 101"]);
    expect(problems(compileConfig(fallback([MOCK, fallback(many(51))]), origin))).toEqual([`targets[1].targets: ${below(51)}`]);
  });

  test("below a target of the root all depths count together", () => {
    const spread = (count: number) => fallback([fallback(many(count)), fallback([fallback(many(20))])]);
    expect(compiled(fallback([spread(27)])).leaves).toHaveLength(47);
    expect(problems(compileConfig(fallback([MOCK, spread(28)]), "saved"))).toEqual([`targets[1].targets: ${below(51)}`]);
  });

  test("a conditional root may have 1000", () => {
    expect(compiled(conditional(many(999))).leaves).toHaveLength(1_000);
    expect(problems(compileConfig(conditional(many(1_000)), "saved"))).toEqual(["targets: at most 1000 targets, found 1001"]);
    expect(problems(compileConfig(fallback([conditional(many(50))]), "saved"))).toEqual([`targets[0].targets: ${below(51)}`]);
  });

  test("10,000 targets neither crash nor stall", { timeout: 60_000 }, () => {
    const wrong = Array.from({ length: 10_000 }, (_, index) => ({ provider: "@a", [`provder_${index}`]: 1, retry: {} }));
    const wide = fallback(Array.from({ length: 100 }, () => fallback([fallback(many(50)), fallback(many(50))])));
    for (const origin of ["saved", "inline"] as const) {
      for (const targets of [many(10_000), wrong])
        expect(problems(compileConfig(fallback(targets), origin))).toEqual(["targets: at most 100 targets, found 10000"]);
      expect(problems(compileConfig(fallback([fallback(many(10_000))]), origin))).toEqual([`targets[0].targets: ${below(10_000)}`]);
      expect(problems(compileConfig(wide, origin))).toEqual([`targets[0].targets: ${below(102)}`]);
    }
    const nowhere = fallback(Array.from({ length: 100 }, () => fallback(Array.from({ length: 50 }, () => ({})))));
    expect(problems(compileConfig(nowhere, "saved"))).toHaveLength(20);
  });
});

test("the same config compiles to the same thing", () => {
  const config = renameAliases({ strategy: { mode: "fallback" }, targets: [MOCK, { provider: "@a", cache: "simple" }] });
  expect(compiled(config)).toEqual(compiled(structuredClone(config)));
});

test("compiling changes nothing of what it is given", () => {
  const config = { strategy: { mode: "fallback" }, forward_headers: ["X-A"], targets: [{ ...MOCK, retry: { attempts: 9 } }] };
  const before = structuredClone(config);
  compiled(config, "inline");
  expect(config).toEqual(before);
});
