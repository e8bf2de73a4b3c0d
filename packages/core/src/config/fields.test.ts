import { expect, test } from "vitest";
import { compileConfig } from "./compile.ts";
import { ADDRESS_SETTINGS, CREDENTIAL_FIELDS, fieldName, renameAliases, SETTING_FIELDS } from "./fields.ts";
import { savedConfigSchema } from "./schema.ts";

test.each([
  ["strict_open_ai_compliance", "strict_compat_compliance"],
  ["openai_organization", "provider_organization"],
  ["openai_project", "provider_project"],
  ["aws_access_key_id", "cloud_access_key_id"],
  ["aws_region", "cloud_region"],
  ["vertex_service_account_json", "cloudb_service_account_json"],
  ["azure_entra_client_secret", "cloudc_entra_client_secret"],
  ["provider", "provider"],
  ["cloud_region", "cloud_region"],
  ["constructor", "constructor"],
  ["toString", "toString"],
  ["__proto__", "__proto__"],
  ["aws_", "cloud_"],
])("%s is %s", (alias, name) => {
  expect(fieldName(alias)).toBe(name);
});

test("aliases are renamed in every target, and nowhere else", () => {
  expect(
    renameAliases({
      strict_open_ai_compliance: false,
      override_params: { aws_region: "kept" },
      targets: [{ provider: "bedrock", aws_region: "r" }, { targets: [{ vertex_region: "x", azure_api_version: "v" }] }],
    }),
  ).toEqual({
    strict_compat_compliance: false,
    override_params: { aws_region: "kept" },
    targets: [{ provider: "bedrock", cloud_region: "r" }, { targets: [{ cloudb_region: "x", cloudc_api_version: "v" }] }],
  });
});

test("the gateway's own name wins over its alias, in either order", () => {
  expect(renameAliases({ aws_region: "alias", cloud_region: "own" })).toEqual({ cloud_region: "own" });
  expect(renameAliases({ cloud_region: "own", aws_region: "alias" })).toEqual({ cloud_region: "own" });
});

test("the old forms of cache and retry", () => {
  expect(renameAliases({ cache: "simple" })).toEqual({ cache: { mode: "simple" } });
  expect(renameAliases({ retry: { attempts: 1, use_retry_after_header: true } })).toEqual({
    retry: { attempts: 1, use_retry_after_headers: true },
  });
  expect(renameAliases({ retry: { use_retry_after_header: true, use_retry_after_headers: false } })).toEqual({
    retry: { use_retry_after_headers: false },
  });
});

test.each([null, 1, "x", [1], undefined])("%j is no config and comes back as it is", (value) => {
  expect(renameAliases(value)).toBe(value);
});

test("names of Object.prototype are fields like any other", () => {
  const renamed = renameAliases(JSON.parse('{"constructor":1,"toString":2,"__proto__":{"polluted":1},"provider":"mock"}'));
  expect(renamed).toEqual({ constructor: 1, toString: 2, provider: "mock" });
  expect("polluted" in {}).toBe(false);
  expect(compileConfig(renamed, "saved")).toMatchObject({ ok: false, problems: [{ path: "constructor" }, { path: "toString" }] });
});

test("a client's config with the names of the field compiles", () => {
  const config = {
    strategy: { mode: "fallback" },
    strict_open_ai_compliance: false,
    cache: "semantic",
    retry: { attempts: 2, use_retry_after_header: true },
    targets: [
      { provider: "bedrock", aws_access_key_id: "a", aws_secret_access_key: "b", aws_region: "eu-west-1" },
      { provider: "vertex-ai", vertex_region: "r", vertex_project_id: "p" },
      { provider: "azure-ai", azure_endpoint_name: "e", azure_deployment_type: "managed" },
    ],
  };
  const result = compileConfig(renameAliases(config), "saved");
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  expect(result.config.leaves[0]).toMatchObject({
    strict: false,
    cache: { mode: "semantic" },
    retry: { attempts: 2, useRetryAfter: true },
  });
  expect(result.config.leaves.map((leaf) => JSON.parse(leaf.settingsJson.toString()))).toEqual([
    { cloud_region: "eu-west-1" },
    { cloudb_project_id: "p", cloudb_region: "r" },
    { cloudc_deployment_type: "managed", cloudc_endpoint_name: "e" },
  ]);
});

test("every credential and setting is a field, and none is both", () => {
  const fields = Object.keys(savedConfigSchema.shape);
  expect(fields).toEqual(expect.arrayContaining([...CREDENTIAL_FIELDS, ...SETTING_FIELDS]));
  expect(CREDENTIAL_FIELDS.filter((name) => SETTING_FIELDS.includes(name))).toEqual([]);
  expect(ADDRESS_SETTINGS.filter((name) => !SETTING_FIELDS.includes(name))).toEqual([]);
  const providerFields = fields.filter((name) => /^(cloud|cloudb|cloudc|provider)_/.test(name));
  expect(providerFields.filter((name) => !CREDENTIAL_FIELDS.includes(name) && !SETTING_FIELDS.includes(name))).toEqual([]);
});
