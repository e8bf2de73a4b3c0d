import { describe, expect, test } from "vitest";
import { createTestApi, type TestApi } from "./management.fixture.ts";

async function idOf(api: TestApi, path: string, body: object): Promise<string> {
  const { json, status, text } = await api.ask("POST", path, body);
  expect(status, text).toBe(200);
  return String(json["id"]);
}

describe("organisations", () => {
  test("are made by the admin key, with a default workspace", async () => {
    const api = createTestApi();
    const id = await idOf(api, "/admin/organisations", { name: "Acme Ltd", description: "d" });
    expect(id).toMatch(/^org-acme-ltd-[0-9a-f]{8}$/);
    expect(api.saved.get("organisation", "org-default", id)?.resource).toEqual({
      id,
      name: "Acme Ltd",
      default_workspace_id: "ws-default",
    });
    expect((await api.ask("GET", "/admin/organisations")).json).toMatchObject({
      object: "list",
      total: 3,
      data: [{ id: "org-default" }, { id: "org-far" }, { id, name: "Acme Ltd", description: "d" }],
    });
    expect((await api.ask("GET", `/workspaces?organisation_id=${id}`)).json).toMatchObject({
      total: 1,
      data: [{ id: "ws-default", organisation_id: id }],
    });
    await api.ask("PUT", `/admin/organisations/${id}`, { name: "Acme" });
    expect((await api.ask("GET", `/admin/organisations/${id}`)).json).toMatchObject({ name: "Acme", description: "d" });
  });

  test("go when they are empty", async () => {
    const api = createTestApi();
    const id = await idOf(api, "/admin/organisations", { name: "Acme" });
    const config = await api.ask("POST", "/configs", { name: "c", config: { provider: "mock" }, organisation_id: id });
    expect((await api.ask("DELETE", `/admin/organisations/${id}`)).error).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("config"),
    });
    const { slug } = config.json["data"] as { slug: string };
    expect((await api.ask("DELETE", `/configs/${slug}?organisation_id=${id}`)).status).toBe(200);
    expect((await api.ask("DELETE", `/admin/organisations/${id}`)).status).toBe(200);
    expect((await api.ask("GET", `/admin/organisations/${id}`)).status).toBe(404);
    expect((await api.ask("GET", `/configs?organisation_id=${id}`)).status).toBe(404);
  });

  test("of the installation and of the file stay", async () => {
    const api = createTestApi();
    for (const id of ["org-default", "org-far"]) expect((await api.ask("DELETE", `/admin/organisations/${id}`)).status).toBe(409);
  });
});

describe("workspaces", () => {
  test.each(["/workspaces", "/admin/workspaces"])("are made, listed, changed and deleted under %s", async (path) => {
    const api = createTestApi();
    const id = await idOf(api, path, { name: "Web team", defaults: { metadata: { team: "web" } } });
    expect(id).toMatch(/^ws-web-team-[0-9a-f]{8}$/);
    expect(api.saved.get("workspace", "org-default", id)?.resource).toEqual({
      id,
      name: "Web team",
      organisation_id: "org-default",
      defaults: { config_id: null, metadata: { team: "web" } },
    });
    expect((await api.ask("GET", `${path}?name=WEB`)).json).toMatchObject({ total: 1, data: [{ id, slug: id, name: "Web team" }] });
    expect((await api.ask("GET", `${path}?exact_name=Web`)).json).toMatchObject({ total: 0 });
    expect((await api.ask("GET", path)).json).toMatchObject({ total: 2 });
    expect((await api.ask("GET", `${path}?status=archived`)).json).toMatchObject({ total: 0 });
    await api.ask("PUT", `${path}/${id}`, { description: "d" });
    expect((await api.ask("GET", `${path}/${id}`)).json).toMatchObject({ description: "d", defaults: { metadata: { team: "web" } } });
    const key = await idOf(api, "/api-keys/workspace/service", { name: "k", scopes: ["logs.view"], workspace_id: id });
    expect((await api.ask("DELETE", `${path}/${id}`)).error.message).toContain("api key");
    await api.ask("DELETE", `/api-keys/${key}`);
    expect((await api.ask("DELETE", `${path}/${id}`)).status).toBe(200);
    expect((await api.ask("DELETE", `${path}/${id}`)).status).toBe(404);
  });

  test("name a default config, which then stays and says so", async () => {
    const api = createTestApi();
    const id = await idOf(api, "/workspaces", { name: "Team" });
    const wrong = await api.ask("PUT", `/workspaces/${id}`, { defaults: { config_id: "pc-mian" } });
    expect([wrong.status, wrong.error.param]).toEqual([400, "defaults.config_id"]);
    expect(wrong.error.message).toContain('did you mean "pc-main"?');
    const made = await api.ask("POST", "/configs", { name: "c", config: { provider: "mock" }, workspace_id: id });
    const { slug } = made.json["data"] as { slug: string };
    expect((await api.ask("POST", "/workspaces", { name: "Other", defaults: { config_id: slug } })).status).toBe(400);
    expect((await api.ask("PUT", `/workspaces/${id}`, { defaults: { config_id: slug } })).status).toBe(200);
    await api.ask("PUT", `/workspaces/${id}`, { defaults: { metadata: { team: "web" } } });
    expect((await api.ask("GET", `/workspaces/${id}`)).json).toMatchObject({ defaults: { config_id: slug, metadata: { team: "web" } } });
    expect((await api.ask("GET", `/configs/${slug}`)).json).toMatchObject({ data: { is_default: 1 } });
    const kept = await api.ask("DELETE", `/configs/${slug}`);
    expect([kept.status, kept.error.message]).toEqual([409, expect.stringContaining(`"${id}"`)]);
    await api.ask("PUT", `/workspaces/${id}`, { defaults: { config_id: null } });
    expect((await api.ask("DELETE", `/configs/${slug}`)).status).toBe(200);
  });

  test("a workspace key sees its own, and makes none", async () => {
    const api = createTestApi();
    const id = await idOf(api, "/workspaces", { name: "Team" });
    const caller = await api.key(["*"], { workspace_id: id });
    expect((await api.ask("GET", "/workspaces", undefined, caller)).json).toMatchObject({ total: 1, data: [{ id }] });
    expect((await api.ask("GET", "/workspaces/ws-default", undefined, caller)).status).toBe(404);
    expect((await api.ask("PUT", `/workspaces/${id}`, { name: "Mine" }, caller)).status).toBe(200);
    expect((await api.ask("POST", "/workspaces", { name: "x" }, caller)).status).toBe(403);
    expect((await api.ask("DELETE", `/workspaces/${id}`, undefined, caller)).status).toBe(403);
  });

  test("the default one stays as it is", async () => {
    const api = createTestApi();
    for (const method of ["PUT", "DELETE"]) expect((await api.ask(method, "/workspaces/ws-default", "{}")).status).toBe(409);
  });
});
