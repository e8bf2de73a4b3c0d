import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject } from "../json.ts";
import { compileConfig } from "./compile.ts";
import { anyConfig } from "./config.fixture.ts";
import { renameAliases } from "./fields.ts";
import { configJsonSchema } from "./json-schema.ts";
import { savedConfigSchema } from "./schema.ts";

const document = configJsonSchema();
const validate = new Ajv2020({ strict: true, allowUnionTypes: true, strictTypes: false, strictRequired: false }).compile(document);
const accepts = (config: unknown): boolean => validate(config);
const refusals = (): string => JSON.stringify(validate.errors);
const MOCK = { provider: "mock" };

test.each<[string, object]>([
  ["provider and api_key", { provider: "openai", api_key: "k" }],
  ["provider and custom_host", { provider: "openai", custom_host: "https://models.example.com/v1" }],
  ["a saved provider", { provider: "@main" }],
  ["virtual_key", { virtual_key: "main" }],
  ["cache", { cache: { mode: "simple", max_age: 60 } }],
  ["cache as text", { cache: "simple" }],
  ["retry", { retry: { attempts: 3, on_status_codes: [429, "503"] } }],
  ["retry with the older flag", { retry: { attempts: 3, use_retry_after_header: true } }],
  ["prompt_id", { prompt_id: "pp-greeting" }],
  ["forward_headers", { forward_headers: ["x-tenant"] }],
  ["request_timeout", { request_timeout: 5_000 }],
  ["the first cloud", { provider: "bedrock", cloud_access_key_id: "a", cloud_secret_access_key: "b", cloud_region: "r" }],
  ["the first cloud in older words", { provider: "bedrock", aws_access_key_id: "a", aws_secret_access_key: "b", aws_region: "r" }],
  ["the second cloud", { provider: "vertex-ai", vertex_region: "r", cloudb_service_account_json: { type: "service_account" } }],
  ["the third cloud", { provider: "azure-ai", azure_endpoint_name: "e", cloudc_deployment_type: "managed" }],
  ["guardrails", { input_guardrails: ["pg-words", { "default.contains": { operator: "any", words: ["x"] }, deny: true }, { id: "g" }] }],
  ["hooks", { before_request_hooks: [{ id: "h", checks: [{ id: "default.contains", parameters: {} }], on_fail: { deny: true } }] }],
  ["passthrough", { passthrough: true, retry: { attempts: 1 } }],
  ["a model that names a saved provider", { override_params: { model: "@main/gpt" } }],
  ["compliance in older words", { ...MOCK, strict_open_ai_compliance: false }],
  ["a fallback", { strategy: { mode: "fallback", on_status_codes: ["429"] }, targets: [MOCK, { passthrough: true, override_params: {} }] }],
  [
    "nested strategies",
    { strategy: { mode: "single" }, targets: [{ strategy: { mode: "loadbalance" }, targets: [{ ...MOCK, weight: 0.5 }] }] },
  ],
  ["a breaker", { ...MOCK, cb_config: { failure_threshold: 1, cooldown_interval: 30_000, failure_status_codes: ["500"] } }],
])("%s is taken, and may be saved", (_, config) => {
  expect(accepts(config), refusals()).toBe(true);
  expect(compileConfig(renameAliases(config), "saved")).toMatchObject({ ok: true });
});

test.each<[string, unknown]>([
  ["no object", []],
  ["nothing in it", {}],
  ["only an api_key", { api_key: "k" }],
  ["only a Workers AI model", { override_params: { model: "@cf/meta/llama" } }],
  ["an unknown field", { ...MOCK, retrys: {} }],
  ["an unknown field of a target", { strategy: { mode: "single" }, targets: [{ ...MOCK, wieght: 1 }] }],
  ["six attempts", { retry: { attempts: 6 } }],
  ["a wrong status", { retry: { attempts: 1, on_status_codes: [99] } }],
  ["a status that is no text", { ...MOCK, on_status_codes: ["busy"] }],
  ["an unknown cache", { cache: "fast" }],
  ["a timeout of 0", { request_timeout: 0 }],
  ["no mode", { strategy: {}, targets: [MOCK] }],
  ["a strategy without targets", { strategy: { mode: "single" } }],
  ["targets without a strategy", { targets: [MOCK] }],
  ["no targets", { strategy: { mode: "single" }, targets: [] }],
  ["a target that goes nowhere", { strategy: { mode: "single" }, targets: [{ retry: { attempts: 1 } }] }],
  ["conditions that are missing", { strategy: { mode: "conditional", default: "a" }, targets: [MOCK] }],
  ["a default that is missing", { strategy: { mode: "conditional", conditions: [{ query: {}, then: "a" }] }, targets: [MOCK] }],
  ["select elsewhere", { strategy: { mode: "fallback", select: "weighted" }, targets: [MOCK] }],
  ["a hedge of single", { strategy: { mode: "single", hedge: { delay_ms: 1 } }, targets: [MOCK] }],
  ["an empty hedge", { strategy: { mode: "fallback", hedge: {} }, targets: [MOCK] }],
  ["a breaker without threshold", { ...MOCK, cb_config: { cooldown_interval: 30_000 } }],
  ["a short cooldown", { ...MOCK, cb_config: { failure_threshold: 1, cooldown_interval: 29_999 } }],
  ["a guardrail of nothing", { input_guardrails: [{ deny: true }] }],
  ["a check without parameters", { output_guardrails: [{ contains: "x" }] }],
  ["a hook without id", { before_request_hooks: [{}] }],
  ["a sticky field of nowhere", { strategy: { mode: "loadbalance", sticky: { enabled: true, hash_fields: ["x"] } }, targets: [MOCK] }],
  ["passthrough beside override_params", { passthrough: true, override_params: {} }],
  ["passthrough beside guardrails", { passthrough: true, output_guardrails: ["pg-x"] }],
  ["credentials that are sealed already", { ...MOCK, sealed_credentials: "x" }],
])("%s is refused here as there", (_, config) => {
  expect(accepts(config)).toBe(false);
  if (!isObject(config) || config["sealed_credentials"] === undefined)
    expect(compileConfig(renameAliases(config), "saved")).toMatchObject({ ok: false });
});

test("what may be saved is taken, and what the schema behind it refuses is refused", () => {
  fc.assert(
    fc.property(anyConfig, (config) => {
      const renamed = renameAliases(config);
      if (compileConfig(renamed, "saved").ok) expect(accepts(config), refusals()).toBe(true);
      if (!savedConfigSchema.safeParse(renamed).success) expect(accepts(config), JSON.stringify(config)).toBe(false);
    }),
    { numRuns: 500 },
  );
});

describe("the document", () => {
  test("says of every field what it means", () => {
    const silent: string[] = [];
    const look = (schema: unknown, path: string): void => {
      if (Array.isArray(schema)) for (const [index, one] of schema.entries()) look(one, `${path}[${index}]`);
      if (!isObject(schema)) return;
      for (const [name, inner] of Object.entries(schema)) {
        if (name === "properties" && isObject(schema["additionalProperties"] === undefined ? null : inner)) {
          for (const [field, one] of Object.entries(inner as JsonObject))
            if (isObject(one) && typeof one["description"] !== "string") silent.push(`${path}.${field}`);
        }
        look(inner, `${path}.${name}`);
      }
    };
    look(document["$defs"], "");
    expect(silent).toEqual([]);
  });

  test("names itself and its dialect, and nothing that is the gateway's own business", () => {
    expect(document).toMatchObject({ $schema: "https://json-schema.org/draft/2020-12/schema", $id: "urn:unigate:schemas:config" });
    expect(JSON.stringify(document)).not.toContain("sealed_credentials");
    expect(JSON.stringify(document).length).toBeLessThan(64 * 1024);
  });

  test("is the same whenever it is made", () => {
    expect(configJsonSchema()).toEqual(document);
  });
});
