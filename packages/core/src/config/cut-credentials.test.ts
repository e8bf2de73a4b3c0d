import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import { cutCredentials } from "./cut-credentials.ts";
import { CREDENTIAL_FIELDS, renameAliases } from "./fields.ts";

test("credentials are cut out of every target, by option path", () => {
  const cut = cutCredentials({
    provider: "openai",
    api_key: "k0",
    targets: [
      { provider: "@main" },
      { provider: "bedrock", cloud_access_key_id: "a", cloud_secret_access_key: "b", cloud_session_token: "c", cloud_region: "r" },
      { targets: [{ provider: "vertex-ai", cloudb_service_account_json: { private_key: "p" } }] },
    ],
  });
  expect(cut.config).toEqual({
    provider: "openai",
    targets: [{ provider: "@main" }, { provider: "bedrock", cloud_region: "r" }, { targets: [{ provider: "vertex-ai" }] }],
  });
  expect([...cut.credentials]).toEqual([
    ["config.targets[1]", { cloud_access_key_id: "a", cloud_secret_access_key: "b", cloud_session_token: "c" }],
    ["config.targets[2].targets[0]", { cloudb_service_account_json: '{"private_key":"p"}' }],
    ["config", { api_key: "k0" }],
  ]);
});

test("something may stand in their place", () => {
  const cut = cutCredentials({ provider: "openai", api_key: "k", targets: [{ provider: "@a" }] }, (path, credentials) => ({
    sealed_credentials: `${path}:${Object.keys(credentials).join()}`,
  }));
  expect(cut.config).toEqual({ provider: "openai", sealed_credentials: "config:api_key", targets: [{ provider: "@a" }] });
});

test("only a config's own fields are credentials", () => {
  const config = { provider: "mock", override_params: { api_key: "a parameter" }, metadata: { api_key: "kept" } };
  expect(cutCredentials(config)).toEqual({ config, credentials: new Map() });
});

test.each([null, 1, "x", [{ api_key: "k" }]])("%j is no config and comes back as it is", (value) => {
  expect(cutCredentials(value).config).toBe(value);
});

test("what is given is not changed", () => {
  const config = { api_key: "k", targets: [{ api_key: "l" }] };
  const before = structuredClone(config);
  cutCredentials(config);
  expect(config).toEqual(before);
});

test("keys of Object.prototype do no harm", () => {
  const cut = cutCredentials(JSON.parse('{"__proto__":{"api_key":"k"},"constructor":{"a":1},"api_key":"k"}'));
  expect(cut.config).toEqual({ constructor: { a: 1 } });
  expect(cut.credentials.get("config")).toEqual({ api_key: "k" });
  expect("api_key" in {}).toBe(false);
});

test("no credential survives however deep it lies", () => {
  let config: JsonObject = { provider: "openai", api_key: "hush" };
  for (let level = 0; level < 200; level++) config = { strategy: { mode: "single" }, targets: [config] };
  expect(JSON.stringify(cutCredentials(renameAliases(config)).config)).not.toContain("hush");
});

const aliases = [
  "api_key",
  "aws_access_key_id",
  "aws_secret_access_key",
  "aws_session_token",
  "azure_entra_client_secret",
  "vertex_service_account_json",
];

test("cut and put back is the config; cut alone holds no secret", () => {
  const secret = fc.string({ minLength: 1 }).map((text) => `hush${text}`);
  const { config } = fc.letrec((tie) => ({
    config: fc
      .tuple(
        fc.dictionary(fc.constantFrom(...CREDENTIAL_FIELDS, ...aliases), secret),
        fc.record({ provider: fc.constant("openai"), weight: fc.nat(9) }, { requiredKeys: [] }),
        fc.option(fc.array(tie("config"), { minLength: 1, maxLength: 3 }), { depthSize: "small" }),
      )
      .map(([credentials, plain, targets]) => ({ ...plain, ...credentials, ...(targets === null ? {} : { targets }) })),
  }));
  fc.assert(
    fc.property(config, (given) => {
      const renamed = renameAliases(given);
      expect(JSON.stringify(cutCredentials(renamed).config)).not.toContain("hush");
      expect(cutCredentials(renamed, (_, credentials) => ({ ...credentials })).config).toEqual(renamed);
    }),
  );
});
