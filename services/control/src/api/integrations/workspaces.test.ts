import type { JsonObject } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { mayUse, workspaceAccessOf } from "../../workspace-access.ts";
import { createTestApi, type TestApi } from "../management.fixture.ts";

const ACCESS = "/integrations/company/workspaces";

interface Company {
  readonly api: TestApi;
  /** Ids of two workspaces beside ws-default. */
  readonly web: string;
  readonly data: string;
}

async function company(): Promise<Company> {
  const api = createTestApi();
  await api.ask("POST", "/integrations", { name: "Company", slug: "company", ai_provider_id: "openai", key: "sk-1" });
  const idOf = async (name: string): Promise<string> => String((await api.ask("POST", "/workspaces", { name })).json["id"]);
  return { api, web: await idOf("Web"), data: await idOf("Data") };
}
async function enabledOf({ api, web, data }: Company): Promise<unknown[]> {
  const { workspaces } = (await api.ask("GET", ACCESS)).json as { workspaces: JsonObject[] };
  return ["ws-default", web, data].map((id) => workspaces.find((one) => one["id"] === id)?.["enabled"]);
}

describe("workspaces of an integration", () => {
  test("all have access until something is said; who is given it is alone with it", async () => {
    const given = await company();
    const { api, web, data } = given;
    expect(await enabledOf(given)).toEqual([true, true, true]);
    expect((await api.ask("PUT", ACCESS, { workspaces: [{ id: web, enabled: true }] })).json).toEqual({});
    expect(await enabledOf(given)).toEqual([false, true, false]);
    expect((await api.ask("GET", ACCESS)).json).toMatchObject({ object: "list", total: 3, global_workspace_access: null });

    await api.ask("PUT", ACCESS, { global_workspace_access: { enabled: true }, workspaces: [{ id: data, enabled: false }] });
    expect(await enabledOf(given)).toEqual([true, true, false]);
    await api.ask("PUT", ACCESS, { global_workspace_access: { enabled: false } });
    expect(await enabledOf(given)).toEqual([false, true, false]);
    expect((await api.ask("GET", ACCESS)).json).toMatchObject({ global_workspace_access: { enabled: false } });
    await api.ask("PUT", ACCESS, { workspaces: [{ id: data, enabled: true }], override_existing_workspace_access: true });
    expect(await enabledOf(given)).toEqual([false, false, true]);
    await api.ask("PUT", ACCESS, { global_workspace_access: null, override_existing_workspace_access: true });
    expect(await enabledOf(given)).toEqual([true, true, true]);
  });

  test("without access its providers are not there, and none can be made", async () => {
    const { api, web, data } = await company();
    await api.ask("PUT", ACCESS, { workspaces: [{ id: web, enabled: true }] });
    const keys = await Promise.all([web, data].map((id) => api.key(["*"], { workspace_id: id })));
    const statuses = await Promise.all(keys.map(async (key) => (await api.ask("GET", "/providers/company", undefined, key)).status));
    expect(statuses).toEqual([200, 404]);
    const provider = (slug: string, workspace_id: string) => ({ name: slug, slug, integration_id: "company", workspace_id });
    const refused = await api.ask("POST", "/providers", provider("d", data));
    expect([refused.status, refused.error.param]).toEqual([400, "workspace_id"]);
    expect((await api.ask("POST", "/providers", provider("w", web))).status).toBe(200);

    // Their keys still see what is theirs, to take it away; requests do not.
    await api.ask("PUT", ACCESS, { workspaces: [{ id: web, enabled: false }] });
    const row = api.saved.get("provider", "org-default", "w");
    expect(row === undefined ? null : mayUse(workspaceAccessOf(row), web)).toBe(false);
    expect((await api.ask("DELETE", "/providers/w", undefined, keys[0])).status).toBe(200);
  });

  test("get a provider of their own when that is wanted, once", async () => {
    const { api, web, data } = await company();
    const wanted = { enabled: true, create_default_provider: true };
    const named = { id: web, ...wanted, default_provider_slug: "web-main" };
    for (let again = 0; again < 2; again += 1)
      expect((await api.ask("PUT", ACCESS, { workspaces: [named, { id: data, ...wanted }] })).status).toBe(200);
    const providers = api.saved.list("provider", "org-default").filter(({ workspaceId }) => workspaceId !== null);
    expect(providers.map(({ slug, workspaceId }) => [workspaceId, slug])).toEqual([
      [web, "web-main"],
      [data, expect.stringMatching(/^company-[0-9a-f]{8}$/)],
    ]);
    expect((await api.ask("DELETE", "/integrations/company")).status).toBe(200);
    expect(api.saved.list("provider", "org-default")).toEqual([]);
  });

  test.each([
    ["a workspace that is none", { workspaces: [{ id: "ws-none", enabled: true }] }, "workspaces[0].id"],
    ["a workspace of another organisation", { workspaces: [{ id: "ws-far", enabled: true }] }, "workspaces[0].id"],
    ["a workspace twice", { workspaces: [1, 2].map(() => ({ id: "ws-default", enabled: true })) }, "workspaces[1].id"],
    ["limits", { workspaces: [{ id: "ws-default", enabled: true, rate_limits: [{}] }] }, "workspaces[0].rate_limits"],
    ["limits of all", { global_workspace_access: { enabled: true, usage_limits: [{}] } }, "global_workspace_access.usage_limits"],
  ])("are refused with %s", async (_case, body, param) => {
    const { api } = await company();
    const before = api.saved.text();
    const answer = await api.ask("PUT", ACCESS, body);
    expect([answer.status, answer.error.param]).toEqual([400, param]);
    expect(api.saved.text()).toBe(before);
  });

  test("a workspace's own integration is nobody else's", async () => {
    const { api, web } = await company();
    await api.ask("POST", "/integrations", { name: "o", slug: "own", ai_provider_id: "openai", key: "sk-2", workspace_id: web });
    expect((await api.ask("PUT", "/integrations/own/workspaces", { workspaces: [] })).status).toBe(409);
    expect((await api.ask("GET", "/integrations/own/workspaces")).json).toMatchObject({ workspaces: [{ id: web, enabled: true }] });
  });
});
