import { describe, expect, test } from "vitest";
import { createTestApi, type TestApi } from "../management.fixture.ts";

const CANARY = "sk-canary-77aa";
const savedOf = (api: TestApi, slug: string) => api.saved.get("provider", "org-default", slug);
const keyOf = (body: object) => ({ name: "Open AI", provider: "openai", key: CANARY, ...body });

function openedOf(api: TestApi, slug: string): Record<string, string> {
  const sealed = savedOf(api, slug)?.sealed;
  if (!sealed) return {};
  return Object.fromEntries(
    Object.entries(api.deps.sealer.open(sealed, "org-default", `provider/${slug}`)).map(([name, one]) => [name, one.reveal()]),
  );
}

describe("virtual keys", () => {
  test("are providers whose credential is sealed for them", async () => {
    const api = createTestApi();
    const { json } = await api.ask("POST", "/virtual-keys", keyOf({ note: "n", rate_limits: [{ type: "tokens", unit: "rpd", value: 5 }] }));
    const { slug } = json["data"] as { slug: string };
    expect(json).toEqual({ success: true, data: { slug: expect.stringMatching(/^open-ai-[0-9a-f]{8}$/) } });
    expect(savedOf(api, slug)?.resource).toEqual({
      slug,
      provider: "openai",
      organisation_id: "org-default",
      workspace_id: null,
      settings: {},
      custom_host: null,
      allow_custom_host: false,
      rate_limits: [{ type: "tokens", unit: "rpd", value: 5 }],
    });
    expect(openedOf(api, slug)).toEqual({ api_key: CANARY });
    expect((await api.ask("GET", `/virtual-keys/${slug}`)).json).toMatchObject({
      slug,
      name: "Open AI",
      note: "n",
      status: "active",
      provider: "openai",
    });
    expect((await api.ask("GET", `/providers/${slug}`)).json).toMatchObject({ object: "provider", slug, ai_provider_id: "openai" });
    expect((await api.ask("GET", "/virtual-keys")).json).toMatchObject({ object: "list", total: 2 });
  });

  test("take a slug, their own field names, and those of clouds", async () => {
    const api = createTestApi();
    const azure = {
      slug: "azure",
      provider: "azure-openai",
      apiVersion: "2024",
      resourceName: "r",
      deploymentName: "d",
      deploymentConfig: [{ apiVersion: "2024", deploymentName: "gpt", is_default: true }],
    };
    await api.ask("POST", "/virtual-keys", keyOf(azure));
    expect(savedOf(api, "azure")?.resource?.["settings"]).toEqual({
      api_version: "2024",
      resource_name: "r",
      deployment_id: "d",
      deployments: [{ deployment_id: "gpt", alias: "gpt", api_version: "2024", is_default: true }],
    });
    const cloud = {
      name: "b",
      slug: "cloud",
      provider: "bedrock",
      aws_access_key_id: "id",
      aws_secret_access_key: CANARY,
      aws_region: "eu-1",
    };
    expect((await api.ask("POST", "/virtual-keys", cloud)).status).toBe(200);
    expect(openedOf(api, "cloud")).toEqual({ cloud_access_key_id: "id", cloud_secret_access_key: CANARY });
    expect(savedOf(api, "cloud")?.resource).toMatchObject({ settings: { cloud_region: "eu-1" } });
  });

  test("keep what a change does not name, the credential above all", async () => {
    const api = createTestApi();
    await api.ask("POST", "/virtual-keys", keyOf({ slug: "a", custom_host: "https://a.example/v1", resourceName: "r" }));
    const before = savedOf(api, "a")?.sealed;
    await api.ask("PUT", "/virtual-keys/a", { name: "Other", custom_host: "https://a.example/v1", apiVersion: "2" });
    expect(savedOf(api, "a")?.sealed).toBe(before);
    expect(savedOf(api, "a")).toMatchObject({
      version: 2,
      resource: { custom_host: "https://a.example/v1", settings: { resource_name: "r", api_version: "2" } },
    });
    await api.ask("PUT", "/virtual-keys/a", { key: `${CANARY}-new`, custom_host: null, rate_limits: [{ type: "concurrency", value: 1 }] });
    expect(openedOf(api, "a")).toEqual({ api_key: `${CANARY}-new` });
    expect(savedOf(api, "a")?.resource).toMatchObject({ custom_host: null, rate_limits: [{ type: "concurrency", unit: null, value: 1 }] });
  });

  test.each([
    ["a provider that is none", keyOf({ provider: "opnai" }), "provider"],
    ["no credential", { name: "a", provider: "openai" }, null],
    ["an address with a password", keyOf({ custom_host: "https://a:b@c.example" }), "custom_host"],
    ["a slug with a slash", keyOf({ slug: "a/b" }), "slug"],
    ["an expiry date", keyOf({ expires_at: "2030-01-01" }), "expires_at"],
    ["secret references", keyOf({ secret_mappings: [{}] }), "secret_mappings"],
    ["an unknown field", keyOf({ api_version_: "x" }), "api_version_"],
  ])("are refused with %s", async (_case, body, param) => {
    const api = createTestApi();
    const answer = await api.ask("POST", "/virtual-keys", body);
    expect([answer.status, answer.error.param]).toEqual([400, param]);
    expect(answer.text).not.toContain(CANARY);
  });

  test("cannot have a name that is taken, saved or declared", async () => {
    const api = createTestApi();
    await api.ask("POST", "/virtual-keys", keyOf({ slug: "a" }));
    const again = await api.ask("POST", "/virtual-keys", keyOf({ slug: "a" }));
    expect([again.status, again.error.param]).toEqual([409, "slug"]);
    const declared = await api.ask("POST", "/virtual-keys", keyOf({ slug: "main" }));
    expect([declared.status, declared.error.param, declared.error.message]).toEqual([409, "slug", expect.stringContaining("unigate.yaml")]);
    for (const path of ["/virtual-keys/main", "/providers/main"])
      for (const method of ["PUT", "DELETE"]) expect((await api.ask(method, path, { name: "x" })).error.message).toContain("unigate.yaml");
  });
});

describe("integrations", () => {
  const integration = (body: object = {}) => ({ name: "Company", ai_provider_id: "openai", slug: "company", key: CANARY, ...body });

  test("bring a provider of their own", async () => {
    const api = createTestApi();
    const { json } = await api.ask("POST", "/integrations", integration({ description: "d", configurations: { openai_project: "p" } }));
    expect(json).toEqual({ id: expect.any(String), slug: "company", object: "integration" });
    expect(api.saved.get("integration", "org-default", "company")?.resource).toBeNull();
    expect(savedOf(api, "company")?.resource).toMatchObject({ slug: "company", provider: "openai", settings: { provider_project: "p" } });
    expect(openedOf(api, "company")).toEqual({ api_key: CANARY });
    expect((await api.ask("GET", "/integrations/company")).json).toMatchObject({
      slug: "company",
      name: "Company",
      description: "d",
      ai_provider_id: "openai",
      configurations: { provider_project: "p" },
    });
    const other = await api.ask("POST", "/integrations", integration({ slug: "b", default_provider_slug: "b-main" }));
    expect([other.status, savedOf(api, "b-main")?.details["integration_id"]]).toEqual([200, other.json["id"]]);
    await api.ask("POST", "/integrations", integration({ slug: "c", create_default_provider: false }));
    expect(savedOf(api, "c")).toBeUndefined();
  });

  test("give their credential to their providers, and a new one to all of them in one step", async () => {
    const api = createTestApi();
    const { json } = await api.ask("POST", "/integrations", integration());
    const provider = {
      name: "Team",
      integration_id: json["id"],
      slug: "team",
      note: "n",
      rate_limits: [{ type: "requests", unit: "rpm", value: 3 }],
    };
    expect((await api.ask("POST", "/providers", provider)).json).toEqual({ id: expect.any(String), slug: "team", object: "provider" });
    expect(openedOf(api, "team")).toEqual({ api_key: CANARY });

    await api.ask("PUT", "/integrations/company", { description: "said" });
    expect(savedOf(api, "team")?.version).toBe(1);
    await api.ask("PUT", "/integrations/company", { key: "sk-second", configurations: { custom_host: "https://c.example/v1" } });
    for (const slug of ["company", "team"]) {
      expect(openedOf(api, slug)).toEqual({ api_key: "sk-second" });
      expect(savedOf(api, slug)?.resource).toMatchObject({ slug, custom_host: "https://c.example/v1" });
    }
    expect(savedOf(api, "team")?.resource).toMatchObject({ rate_limits: [{ type: "requests", unit: "rpm", value: 3 }] });
    expect(savedOf(api, "team")?.details).toMatchObject({ name: "Team", note: "n" });
  });

  test("a provider that is made while the credential changes has the new one", async () => {
    const api = createTestApi();
    const { json } = await api.ask("POST", "/integrations", integration({ create_default_provider: false }));
    api.saved.before = async () => void (await api.ask("PUT", "/integrations/company", { key: "sk-second" }));
    expect((await api.ask("POST", "/providers", { name: "t", slug: "t", integration_id: json["id"] })).status).toBe(200);
    expect(openedOf(api, "t")).toEqual({ api_key: "sk-second" });
  });

  test("are not deleted while another provider needs them; their own goes with them", async () => {
    const api = createTestApi();
    const { json } = await api.ask("POST", "/integrations", integration());
    await api.ask("POST", "/providers", { name: "t", slug: "team", integration_id: json["id"] });
    expect((await api.ask("DELETE", "/integrations/company")).error).toMatchObject({
      code: "conflict",
      message: expect.stringContaining('"team"'),
    });
    await api.ask("DELETE", "/providers/team");
    expect((await api.ask("DELETE", "/integrations/company")).status).toBe(200);
    expect(savedOf(api, "company")).toBeUndefined();
  });

  test("a provider of one is changed in its own fields only", async () => {
    const api = createTestApi();
    await api.ask("POST", "/integrations", integration());
    expect((await api.ask("PUT", "/virtual-keys/company", { key: "sk-x" })).error.param).toBe("api_key");
    expect((await api.ask("PUT", "/providers/company", { key: "sk-x" })).status).toBe(400);
    expect((await api.ask("PUT", "/providers/company", { name: "x", note: "said" })).status).toBe(200);
    expect((await api.ask("GET", "/providers/company")).json).toMatchObject({ name: "x", note: "said" });
    expect(openedOf(api, "company")).toEqual({ api_key: CANARY });
  });

  test.each([
    ["a provider that is none", integration({ ai_provider_id: "opnai" }), "ai_provider_id"],
    ["no credential", { name: "a", ai_provider_id: "openai" }, "key"],
    ["an unknown configuration", integration({ configurations: { aws_regoin: "x" } }), "configurations.cloud_regoin"],
    ["an address that is none", integration({ configurations: { custom_host: "nowhere" } }), "configurations.custom_host"],
    ["prices", integration({ pricing_adjustments: { multiplier: {} } }), "pricing_adjustments"],
  ])("are refused with %s", async (_case, body, param) => {
    const answer = await createTestApi().ask("POST", "/integrations", body);
    expect([answer.status, answer.error.param]).toEqual([400, param]);
  });

  test("rights go by place", async () => {
    const api = createTestApi();
    await api.ask("POST", "/integrations", integration());
    const own = await api.key(["workspace_integrations.create", "workspace_integrations.read"], {
      workspace_id: null,
      type: "organisation-service",
    });
    expect((await api.ask("GET", "/integrations/company", undefined, own)).status).toBe(403);
    expect((await api.ask("POST", "/integrations", integration({ slug: "x" }), own)).error.message).toContain(
      '"organisation_integrations.create"',
    );
    expect((await api.ask("POST", "/integrations", integration({ slug: "x", workspace_id: "ws-default" }), own)).status).toBe(200);
    expect((await api.ask("GET", "/integrations/x", undefined, own)).status).toBe(200);
  });
});

describe("a stored credential goes nowhere else unless it is given again:", () => {
  const ADDRESS = { custom_host: "https://a.example/v1", resource_name: "r", cloud_region: "eu-1" };
  const changes = [
    ["another host", { custom_host: "https://b.example/v1" }, "custom_host"],
    ["the provider's own host", { custom_host: null }, "custom_host"],
    ["any host that a caller names", { allow_custom_host: true }, "allow_custom_host"],
    ["another resource", { resource_name: "other" }, "resource_name"],
    ["another region", { aws_region: "evil.example/" }, "cloud_region"],
    ["a first endpoint", { azure_endpoint_name: "x" }, "cloudc_endpoint_name"],
  ] as const;

  test.each(changes)("a virtual key, %s", async (_case, change, field) => {
    const api = createTestApi();
    await api.ask("POST", "/virtual-keys", keyOf({ slug: "a", ...ADDRESS }));
    const before = api.saved.text();
    const refused = await api.ask("PUT", "/virtual-keys/a", change);
    expect([refused.status, refused.error.code, refused.error.param]).toEqual([400, "invalid_request", field]);
    expect(refused.error.message).toContain('"key"');
    expect(api.saved.text()).toBe(before);
    expect((await api.ask("PUT", "/virtual-keys/a", { ...change, key: "sk-again" })).status).toBe(200);
    expect(openedOf(api, "a")).toEqual({ api_key: "sk-again" });
  });

  test.each(changes)("an integration with its providers, %s", async (_case, change, field) => {
    const api = createTestApi();
    await api.ask("POST", "/integrations", { name: "i", slug: "i", ai_provider_id: "openai", key: CANARY, configurations: ADDRESS });
    const before = api.saved.text();
    const refused = await api.ask("PUT", "/integrations/i", { configurations: change });
    expect([refused.status, refused.error.param]).toEqual([400, `configurations.${field}`]);
    expect(refused.error.message).toContain('"key"');
    expect(api.saved.text()).toBe(before);
    expect((await api.ask("PUT", "/integrations/i", { configurations: change, key: "sk-again" })).status).toBe(200);
    expect(openedOf(api, "i")).toEqual({ api_key: "sk-again" });
  });

  test("every part of it, and not another credential in its place", async () => {
    const api = createTestApi();
    const parts = { aws_access_key_id: "id", aws_secret_access_key: CANARY };
    await api.ask("POST", "/virtual-keys", { name: "b", slug: "b", provider: "bedrock", aws_region: "eu-1", ...parts });
    for (const given of [{ key: "sk-x" }, { aws_access_key_id: "id" }]) {
      const refused = await api.ask("PUT", "/virtual-keys/b", { custom_host: "https://b.example", ...given });
      expect([refused.status, refused.error.param]).toEqual([400, "custom_host"]);
      expect(refused.error.message).toContain('"cloud_secret_access_key"');
    }
    expect((await api.ask("PUT", "/virtual-keys/b", { custom_host: "https://b.example", ...parts })).status).toBe(200);
  });

  test("where nothing is stored, or it goes where it went, nothing is asked", async () => {
    const api = createTestApi();
    await api.ask("POST", "/virtual-keys", { name: "m", slug: "m", provider: "mock" });
    expect((await api.ask("PUT", "/virtual-keys/m", { custom_host: "https://m.example/v1" })).status).toBe(200);
    await api.ask("POST", "/virtual-keys", keyOf({ slug: "a", allow_custom_host: true, ...ADDRESS }));
    expect((await api.ask("PUT", "/virtual-keys/a", { ...ADDRESS, allow_custom_host: false })).status).toBe(200);
    expect(openedOf(api, "a")).toEqual({ api_key: CANARY });
  });
});

test("no credential comes back in any answer, nor stands in what is saved", async () => {
  const api = createTestApi();
  const nested = { private_key: CANARY };
  await api.ask("POST", "/virtual-keys", keyOf({ slug: "a" }));
  await api.ask("POST", "/virtual-keys", keyOf({ slug: "g", vertex_service_account_json: nested, key: undefined }));
  await api.ask("PUT", "/virtual-keys/a", { key: `${CANARY}-2` });
  await api.ask("PUT", "/virtual-keys/a", { key: { [CANARY]: 1 } });
  await api.ask("PUT", "/virtual-keys/a", `{"key":"${CANARY}",`);
  await api.ask("POST", "/virtual-keys", keyOf({ provider: CANARY.repeat(4) }));
  await api.ask("POST", "/integrations", { name: "i", ai_provider_id: "openai", key: CANARY, slug: "i" });
  await api.ask("POST", "/integrations", { name: "i", ai_provider_id: "openai", key: CANARY, slug: "i" });
  await api.ask("POST", "/integrations", { name: "i", ai_provider_id: "openai", key: CANARY, configurations: { api_key: [CANARY] } });
  for (const path of [
    "/virtual-keys",
    "/providers",
    "/integrations",
    "/virtual-keys/a",
    "/virtual-keys/g",
    "/providers/i",
    "/integrations/i",
  ])
    expect((await api.ask("GET", path)).status).toBe(200);
  for (const place of [...api.answers, api.saved.text()]) expect(place).not.toContain(CANARY);
  expect(api.failures).toEqual([]);
});
