import { compileConfig, isObject, type JsonObject } from "@unigate/core";
import { sealedFromText } from "@unigate/secrets";
import { describe, expect, test } from "vitest";
import { createTestApi, type TestApi } from "../management.fixture.ts";

const CANARY = "sk-canary-3f9a";

async function make(api: TestApi, config: object | string, name = "My chat!"): Promise<string> {
  const { json, status, text } = await api.ask("POST", "/configs", { name, config });
  expect(status, text).toBe(200);
  return String((json["data"] as JsonObject)["id"]);
}
const savedOf = (api: TestApi, id: string) => api.saved.get("config", "org-default", id)?.resource ?? {};
async function shown(api: TestApi, id: string): Promise<JsonObject> {
  const { json } = await api.ask("GET", `/configs/${id}`);
  return JSON.parse(String((json["data"] as JsonObject)["config"])) as JsonObject;
}
function openedAt(api: TestApi, id: string, path: string, node: unknown): Record<string, string> {
  const sealed = sealedFromText(String(isObject(node) ? node["sealed_credentials"] : ""));
  const opened = api.deps.sealer.open(sealed, "org-default", `${id}/${path}`);
  return Object.fromEntries(Object.entries(opened).map(([name, secret]) => [name, secret.reveal()]));
}
const targetsOf = (config: unknown): unknown[] => (isObject(config) && Array.isArray(config["targets"]) ? config["targets"] : []);

describe("a new config", () => {
  test("gets an id of its name, and is what requests will get", async () => {
    const api = createTestApi();
    const { json } = await api.ask("POST", "/configs", { name: "My chat!", config: { provider: "@main" } });
    const { id } = json["data"] as { id: string };
    expect(id).toMatch(/^pc-my-chat-[0-9a-f]{8}$/);
    expect(json).toEqual({ success: true, data: { id, slug: id, version_id: `${id}@1`, object: "config" } });
    expect(savedOf(api, id)).toEqual({
      id,
      name: "My chat!",
      version: `${id}@1`,
      organisation_id: "org-default",
      workspace_id: null,
      config: { provider: "@main" },
    });
    expect(await make(api, { provider: "@main" })).not.toBe(id);
    expect(await make(api, { provider: "@main" }, "日本")).toMatch(/^pc-[0-9a-f]{8}$/);
  });

  test("is taken as a JSON text and with the field names of other gateways", async () => {
    const api = createTestApi();
    const id = await make(
      api,
      JSON.stringify({ provider: "bedrock", aws_region: "eu-1", aws_access_key_id: "a", aws_secret_access_key: "b" }),
    );
    const { config } = savedOf(api, id);
    expect(config).toEqual({ provider: "bedrock", cloud_region: "eu-1", sealed_credentials: expect.any(String) });
    expect(openedAt(api, id, "config", config)).toEqual({ cloud_access_key_id: "a", cloud_secret_access_key: "b" });
  });

  test.each([
    ["an unknown field", { provider: "@main", retires: {} }, "config.retires"],
    ["a value out of range", { provider: "@main", retry: { attempts: 9 } }, "config.retry.attempts"],
    [
      "a target that goes nowhere",
      { strategy: { mode: "fallback" }, targets: [{ provider: "@main" }, { weight: 1 }] },
      "config.targets[1]",
    ],
    ["credentials that are sealed already", { provider: "openai", sealed_credentials: "x" }, "config"],
    ["a mask in place of a credential", { provider: "openai", api_key: "********" }, "config.api_key"],
    ["a list", [1], "config"],
    ["a text that is no JSON", "{", "config"],
    ["targets nested 9,000 deep", `${'{"targets":['.repeat(9_000)}${"]}".repeat(9_000)}`, "config"],
    ["a parameter nested 60,000 deep", `{"override_params":{"a":${"[".repeat(60_000)}${"]".repeat(60_000)}}}`, "config"],
  ])("is refused with %s, by its path", async (_case, config, param) => {
    const answer = await createTestApi().ask("POST", "/configs", { name: "c", config });
    expect([answer.status, answer.error.param]).toEqual([400, param]);
  });

  test("is checked as one of unigate.yaml is", async () => {
    const { error } = await createTestApi().ask("POST", "/configs", { name: "c", config: { provider: "@main", retrys: {} } });
    expect(error).toMatchObject({ code: "invalid_config", message: expect.stringContaining('did you mean "retry"?') });
  });
});

describe("credentials in configs", () => {
  const two = {
    strategy: { mode: "fallback" },
    targets: [
      { provider: "openai", api_key: CANARY },
      { provider: "openai", api_key: "sk-second", custom_host: "https://b.example/v1" },
    ],
  };

  test("are sealed where they stand, and never shown", async () => {
    const api = createTestApi();
    const id = await make(api, two);
    await api.ask("PUT", `/configs/${id}`, { config: { provider: "openai", api_key: `${CANARY}-2` } });
    for (const path of ["", `/${id}`, `/${id}/versions`]) await api.ask("GET", `/configs${path}`);
    for (const place of [api.saved.text(), ...api.answers]) expect(place).not.toContain(CANARY);
    expect(api.answers.join()).not.toContain("sealed_credentials");
    expect(await shown(api, id)).toEqual({ provider: "openai", api_key: "********" });
  });

  test("stay when they come back masked to where they were", async () => {
    const api = createTestApi();
    const id = await make(api, two);
    const masked = await shown(api, id);
    expect((await api.ask("PUT", `/configs/${id}`, { config: { ...masked, retry: { attempts: 2 } } })).status).toBe(200);
    const { config } = savedOf(api, id);
    expect(targetsOf(config).map((target, index) => openedAt(api, id, `config.targets[${index}]`, target))).toEqual([
      { api_key: CANARY },
      { api_key: "sk-second" },
    ]);
    expect(config).toMatchObject({ retry: { attempts: 2 } });
    expect(compileConfig(config, "saved").ok).toBe(true);
  });

  test.each([
    ["another host", (targets: object[]) => [{ ...targets[0], custom_host: "https://evil.example" }, targets[1]]],
    ["another provider", (targets: object[]) => [{ ...targets[0], provider: "azure-openai" }, targets[1]]],
    ["another resource", (targets: object[]) => [{ ...targets[0], resource_name: "evil" }, targets[1]]],
    ["another place", (targets: object[]) => [targets[1], targets[0]]],
    ["a place that had none", (targets: object[]) => [...targets, targets[0]]],
  ])("are not kept for %s", async (_case, change) => {
    const api = createTestApi();
    const id = await make(api, two);
    const masked = await shown(api, id);
    const before = api.saved.text();
    const answer = await api.ask("PUT", `/configs/${id}`, { config: { ...masked, targets: change(targetsOf(masked) as object[]) } });
    expect(answer.status).toBe(400);
    expect(answer.error.message).toContain("expected the credential itself");
    expect(api.saved.text()).toBe(before);
  });

  test("are not kept for a host that the config around their target hands down", async () => {
    const api = createTestApi();
    const id = await make(api, two);
    const masked = await shown(api, id);
    const answer = await api.ask("PUT", `/configs/${id}`, { config: { ...masked, custom_host: "https://evil.example" } });
    expect([answer.status, answer.error.param]).toEqual([400, "config.targets[0].api_key"]);
  });
});

describe("a custom host of a config", () => {
  const HOST = { custom_host: "https://evil.example/v1" };
  const inTarget = { strategy: { mode: "fallback" }, targets: [{ provider: "openai", api_key: "sk-1" }, { provider: "@main" }], ...HOST };

  test.each([
    ["beside a saved provider", { provider: "@main", ...HOST }, "config.custom_host"],
    ["beside a virtual key", { virtual_key: "main", ...HOST }, "config.custom_host"],
    ["beside a model of a saved provider", { provider: "openai", override_params: { model: "@main/gpt" }, ...HOST }, "config.custom_host"],
    ["around a target with a saved provider", inTarget, "config.targets[1].custom_host"],
    ["beside a provider that is not there", { provider: "@later", ...HOST }, "config.custom_host"],
    ["without any provider", { retry: { attempts: 1 }, ...HOST }, "config.custom_host"],
  ])("is refused %s", async (_case, config, param) => {
    const api = createTestApi();
    const answer = await api.ask("POST", "/configs", { name: "x", config });
    expect([answer.status, answer.error.param]).toEqual([400, param]);
    const id = await make(api, { provider: "@main" });
    expect((await api.ask("PUT", `/configs/${id}`, { config })).status).toBe(400);
    expect(savedOf(api, id)["config"]).toEqual({ provider: "@main" });
  });

  test("stays with a credential of its own, and with a provider that allows it", async () => {
    const api = createTestApi();
    await make(api, { provider: "openai", api_key: "sk-1", ...HOST });
    await make(api, { provider: "openai", ...HOST });
    const open = { name: "o", slug: "open", provider: "openai", key: "sk-1", allow_custom_host: true };
    expect((await api.ask("POST", "/virtual-keys", open)).status).toBe(200);
    await make(api, { provider: "@open", ...HOST });
  });
});

test("each change makes a version, which stays to be read", async () => {
  const api = createTestApi();
  const id = await make(api, { provider: "@main" });
  const changed = await api.ask("PUT", `/configs/${id}`, { config: { provider: "@main", retry: { attempts: 1 } } });
  expect(changed.json).toEqual({ success: true, data: { id, slug: id, version_id: `${id}@2` } });
  await api.ask("PUT", `/configs/${id}`, { name: "Other" });
  const { json } = await api.ask("GET", `/configs/${id}/versions`);
  expect(json).toMatchObject({
    object: "list",
    total: 3,
    data: [
      { id: `${id}@3`, version: 3, name: "Other" },
      { id: `${id}@2`, version: 2, name: "My chat!", config: '{"provider":"@main","retry":{"attempts":1}}' },
      { id: `${id}@1`, version: 1, config: '{"provider":"@main"}' },
    ],
  });
  expect((await api.ask("GET", `/configs/${id}/versions?page_size=1&current_page=1`)).json).toMatchObject({ data: [{ version: 2 }] });
  expect((await api.ask("GET", "/configs/pc-main/versions")).json).toMatchObject({ total: 1 });
});

test("a config that is a key's default stays, and the key is named", async () => {
  const api = createTestApi();
  const id = await make(api, { provider: "@main" });
  const key = { name: "web", scopes: ["completions.write"], defaults: { config_id: id } };
  const { json } = await api.ask("POST", "/api-keys/workspace/service", key);
  const kept = await api.ask("DELETE", `/configs/${id}`);
  expect([kept.status, kept.error.code]).toEqual([409, "conflict"]);
  expect(kept.error.message).toContain(`"web" (${String(json["id"])})`);
  await api.ask("PUT", `/api-keys/${String(json["id"])}`, { defaults: { config_id: null } });
  expect((await api.ask("DELETE", `/configs/${id}`)).status).toBe(200);
  expect((await api.ask("DELETE", `/configs/${id}`)).status).toBe(404);
});

test("a declared config is listed and read, and changed in its file", async () => {
  const api = createTestApi();
  expect((await api.ask("GET", "/configs")).json).toMatchObject({
    success: true,
    object: "list",
    total: 1,
    data: [{ slug: "pc-main", source: "unigate.yaml" }],
  });
  expect(await shown(api, "pc-main")).toEqual({ provider: "@main" });
  for (const method of ["PUT", "DELETE"]) {
    const answer = await api.ask(method, "/configs/pc-main", "{}");
    expect([answer.status, answer.error.message]).toEqual([409, expect.stringContaining("unigate.yaml")]);
  }
});
