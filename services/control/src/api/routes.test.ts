import { describe, expect, test } from "vitest";
import { SCOPES } from "../declared/scopes.ts";
import { ADMIN, createTestApi, type TestApi, type TestCaller } from "./management.fixture.ts";
import { apiRoutes } from "./routes.ts";

/** A path of the route, about nothing that is there. */
const about = (path: string): string => path.replaceAll(/\{\w+\}/g, "nothing");
const table = apiRoutes.map((route) => [`${route.method} ${route.path}`, route] as const);

describe("every route", () => {
  test.each(table)("%s names scopes that there are", (_name, { scopes }) => {
    expect(scopes.length).toBeGreaterThan(0);
    for (const scope of scopes) expect(SCOPES).toContain(scope);
  });

  test.each(table)("%s is refused without its scope, which is named", async (_name, { method, path, scopes }) => {
    const api = createTestApi();
    const others = SCOPES.filter((scope) => !scopes.includes(scope));
    for (const workspaceId of ["ws-default", null]) {
      const type = workspaceId === null ? "organisation-service" : "workspace-service";
      const caller = await api.key(others, { workspace_id: workspaceId, type });
      const before = api.saved.text();
      const answer = await api.ask(method, about(path), "{}", caller);
      expect([answer.status, answer.error.code]).toEqual([403, "scope_missing"]);
      for (const scope of scopes) expect(answer.error.message).toContain(`"${scope}"`);
      expect(api.saved.text()).toBe(before);
    }
  });

  test.each(table)("%s is not refused with one of its scopes", async (_name, { method, path, scopes, adminOnly }) => {
    const api = createTestApi();
    const caller = adminOnly ? ADMIN : await api.key(scopes, { workspace_id: null, type: "organisation-service" });
    const answer = await api.ask(method, about(path), "{}", caller);
    expect(answer.status, answer.text).not.toBe(403);
  });

  test.each(table.filter(([, { adminOnly }]) => adminOnly))("%s is the admin key's alone", async (_name, { method, path }) => {
    const api = createTestApi();
    const caller = await api.key(["*"], { workspace_id: null, type: "organisation-service" });
    expect((await api.ask(method, about(path), "{}", caller)).status).toBe(403);
  });

  test.each(table)("%s refuses a key that is gone", async (_name, { method, path }) => {
    const answer = await createTestApi().ask(method, about(path), "{}", { id: "key-gone" });
    expect([answer.status, answer.error.code]).toEqual([401, "invalid_key"]);
  });

  test.each(table)("%s refuses a query that it does not know", async (_name, { method, path }) => {
    const answer = await createTestApi().ask(method, `${about(path)}?wrong=1`, "{}");
    expect([answer.status, answer.error.message]).toEqual([400, expect.stringContaining("wrong: unknown field")]);
  });

  test.each(table.filter(([, { method }]) => method === "POST" || method === "PUT"))(
    "%s refuses an unknown field",
    async (_name, route) => {
      const answer = await createTestApi().ask(route.method, about(route.path), { nonsense_field: 1 });
      expect(answer.status).toBe(400);
      expect(answer.error.message).toContain("nonsense_field: unknown field");
    },
  );
});

describe("walls", () => {
  const paths = [
    "/api-keys/{}",
    "/configs/{}",
    "/virtual-keys/{}",
    "/providers/{}",
    "/integrations/{}",
    "/guardrails/{}",
    "/policies/rate-limits/{}",
  ];

  /** One thing of each kind in a workspace, by the path that names it. */
  async function fill(api: TestApi, owner: TestCaller, where: object): Promise<string[]> {
    const policy = { conditions: [{ key: "model", value: "*" }], group_by: [{ key: "api_key" }], type: "requests", unit: "rpm", value: 1 };
    const integration = await api.ask(
      "POST",
      "/integrations",
      { name: "i", ai_provider_id: "mock", create_default_provider: false, ...where },
      owner,
    );
    const made = [
      await api.ask("POST", "/api-keys/workspace/service", { name: "k", scopes: ["logs.view"], ...where }, owner),
      await api.ask("POST", "/configs", { name: "c", config: { provider: "mock" }, ...where }, owner),
      await api.ask("POST", "/virtual-keys", { name: "v", provider: "mock", ...where }, owner),
      await api.ask("POST", "/providers", { name: "p", integration_id: integration.json["id"], ...where }, owner),
      integration,
      await api.ask(
        "POST",
        "/guardrails",
        { name: "g", checks: [{ id: "default.contains", parameters: { words: ["a"], operator: "any" } }], ...where },
        owner,
      ),
      await api.ask("POST", "/policies/rate-limits", { ...policy, ...where }, owner),
    ];
    return made.map(({ json, status, text }, index) => {
      expect(status, text).toBe(200);
      const data = (json["data"] ?? json) as { id?: string; slug?: string };
      return (paths[index] ?? "").replace("{}", data.slug ?? data.id ?? "");
    });
  }

  test("a workspace's things are not there for another workspace, and those of an organisation for another", async () => {
    const api = createTestApi();
    const workspace = String((await api.ask("POST", "/admin/workspaces", { name: "Team" })).json["id"]);
    const organisation = String((await api.ask("POST", "/admin/organisations", { name: "Acme" })).json["id"]);
    const things = await fill(api, ADMIN, { workspace_id: workspace });
    const insider = await api.key(["*"], { workspace_id: workspace });
    const organisationKey = await api.key(["*"], { workspace_id: null, type: "organisation-service" });
    const strangers = [
      await api.key(["*"]),
      await api.key(["*"], { organisation_id: organisation }),
      await api.key(["*"], { organisation_id: organisation, workspace_id: null, type: "organisation-service" }),
    ];
    for (const path of things) {
      const list = path.slice(0, path.lastIndexOf("/"));
      for (const stranger of strangers) {
        for (const [method, body] of [
          ["GET", undefined],
          ["PUT", { name: "x" }],
          ["DELETE", undefined],
        ] as const) {
          const answer = await api.ask(method, path, body, stranger);
          expect([answer.status, answer.error.code], `${method} ${path}`).toEqual([404, "not_found"]);
        }
        const { text } = await api.ask("GET", list, undefined, stranger);
        expect(text).not.toContain(path.slice(path.lastIndexOf("/") + 1));
      }
      for (const owner of [insider, organisationKey]) {
        expect((await api.ask("GET", path, undefined, owner)).status, path).toBe(200);
        expect((await api.ask("GET", list, undefined, owner)).text).toContain(path.slice(path.lastIndexOf("/") + 1));
      }
      expect((await api.ask("PUT", path, { name: "y" }, insider)).status, path).toBe(200);
    }
  });

  test("naming another organisation or workspace finds nothing, and only the admin key names another organisation", async () => {
    const api = createTestApi();
    const organisation = String((await api.ask("POST", "/admin/organisations", { name: "Acme" })).json["id"]);
    const workspace = String((await api.ask("POST", "/workspaces", { name: "Team" })).json["id"]);
    const config = { name: "c", config: { provider: "mock" } };
    const own = await api.key(["*"]);
    const wide = await api.key(["*"], { workspace_id: null, type: "organisation-service" });
    for (const [caller, where, param] of [
      [own, { workspace_id: workspace }, "workspace_id"],
      [own, { organisation_id: organisation }, "organisation_id"],
      [wide, { organisation_id: organisation }, "organisation_id"],
      [wide, { workspace_id: "ws-none" }, "workspace_id"],
      [ADMIN, { organisation_id: "org-none" }, "organisation_id"],
      [ADMIN, { organisation_id: organisation, workspace_id: workspace }, "workspace_id"],
    ] as const) {
      const answer = await api.ask("POST", "/configs", { ...config, ...where }, caller);
      expect([answer.status, answer.error.param]).toEqual([404, param]);
    }
    const made = await api.ask("POST", "/configs", { ...config, organisation_id: organisation });
    expect(made.status).toBe(200);
    expect((await api.ask("GET", `/configs?organisation_id=${organisation}`)).json).toMatchObject({ total: 1 });
    expect((await api.ask("GET", "/configs?organisation_id=org-far")).json).toMatchObject({ total: 0 });
    expect((await api.ask("GET", "/providers?organisation_id=org-far")).json).toMatchObject({ total: 1 });
  });

  test("a change may say where a thing is, and not move it", async () => {
    const api = createTestApi();
    const [path = ""] = (await fill(api, ADMIN, {})).slice(1);
    const other = String((await api.ask("POST", "/workspaces", { name: "Team" })).json["id"]);
    expect((await api.ask("PUT", path, { name: "x", organisation_id: "org-default", workspace_id: null })).status).toBe(200);
    const moved = await api.ask("PUT", path, { name: "y", workspace_id: other });
    expect([moved.status, moved.error.param]).toEqual([400, "workspace_id"]);
    expect((await api.ask("PUT", path, { name: "y", organisation_id: "org-far" })).status).toBe(404);
  });

  test("a saved thing is hidden by a declared one of its name only where that one is", async () => {
    const api = createTestApi();
    const row = {
      kind: "provider",
      organisationId: "org-far",
      version: 1,
      createdAt: 1,
      updatedAt: 1,
      details: {},
      sealed: null,
      keyHashes: [],
    } as const;
    const resource = {
      slug: "far",
      provider: "mock",
      organisation_id: "org-far",
      settings: {},
      custom_host: null,
      allow_custom_host: false,
      rate_limits: [],
    };
    await api.saved.write([
      { put: { ...row, id: "p-1", slug: "far", workspaceId: "ws-other", resource: { ...resource, workspace_id: "ws-other" } } },
    ]);
    const list = async (caller: TestCaller) =>
      (await api.ask("GET", "/providers?organisation_id=org-far", undefined, caller)).json["total"];
    expect(await list(ADMIN)).toBe(2);
    expect(await list(await api.key(["*"], { organisation_id: "org-far", workspace_id: "ws-other" }))).toBe(1);
    await api.saved.write([{ remove: { kind: "provider", id: "p-1", version: 1 } }]);
    await api.saved.write([
      { put: { ...row, id: "p-2", slug: "far", workspaceId: "ws-far", resource: { ...resource, workspace_id: "ws-far" } } },
    ]);
    expect(await list(ADMIN)).toBe(1);
  });

  test("a workspace key reads what the whole organisation shares, and changes none of it", async () => {
    const api = createTestApi();
    const things = await fill(api, ADMIN, {});
    const own = await api.key(["*"]);
    const statuses = [];
    for (const path of things)
      statuses.push([(await api.ask("GET", path, undefined, own)).status, (await api.ask("DELETE", path, undefined, own)).status]);
    // The key is in ws-default, where a key goes that says nothing.
    expect(statuses).toEqual([
      [200, 200],
      [200, 403],
      [200, 403],
      [200, 403],
      [404, 404],
      [200, 403],
      [200, 403],
    ]);
  });
});
