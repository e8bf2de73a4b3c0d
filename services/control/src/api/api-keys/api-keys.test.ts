import { hashOfKey, looksLikeGatewayKey } from "@unigate/secrets";
import { describe, expect, test } from "vitest";
import { SavedUnavailable } from "../../saved/types.ts";
import { ADMIN, createTestApi, NOW, type TestApi, type TestCaller } from "../management.fixture.ts";
import { endTransitions } from "./end-transitions.ts";

const SERVICE = "/api-keys/workspace/service";
const make = (api: TestApi, body: object, caller: TestCaller = ADMIN, path = SERVICE) =>
  api.ask("POST", path, { name: "web", scopes: ["completions.write"], ...body }, caller);
const rowOf = (api: TestApi, id: unknown) => api.saved.get("api_key", "org-default", String(id));

describe("a new key", () => {
  test("is shown once and kept as its hash", async () => {
    const api = createTestApi();
    const { json } = await make(api, {});
    const text = String(json["key"]);
    expect(json).toEqual({ id: expect.stringMatching(/^key-/), key: expect.any(String), object: "api-key" });
    expect(looksLikeGatewayKey(text)).toBe(true);
    const hash = hashOfKey(text).toString("hex");
    expect(rowOf(api, json["id"])).toMatchObject({ keyHashes: [hash], resource: { key_sha256: hash } });
    const shown = await api.ask("GET", `/api-keys/${String(json["id"])}`);
    expect(shown.json["key"]).toBe(`ug********${text.slice(-3)}`);
    const listed = await api.ask("GET", "/api-keys");
    for (const place of [shown.text, listed.text, api.saved.text()]) expect(place).not.toContain(text.slice(4, -3));
    expect(listed.text).not.toContain(hash);
  });

  test("has all that was asked for, and its row says so", async () => {
    const api = createTestApi();
    await api.ask("POST", "/configs", { name: "c", config: { provider: "mock" } });
    const rules = {
      defaults: { config_id: "pc-main", metadata: { team: "a" }, allow_config_override: false },
      rate_limits: [
        { type: "requests", unit: "rpm", value: 0 },
        { type: "concurrency", unit: null, value: 2 },
      ],
      allowed_models: ["gpt-test"],
      allowed_providers: ["main"],
    };
    const { json, status } = await make(api, {
      ...rules,
      description: "for the web",
      expires_at: "2031-01-01T00:00:00Z",
      scopes: ["configs.*"],
    });
    expect(status).toBe(200);
    const { json: row } = await api.ask("GET", `/api-keys/${String(json["id"])}`);
    expect(row).toEqual({
      ...rules,
      id: json["id"],
      object: "api-key",
      key: expect.any(String),
      name: "web",
      description: "for the web",
      type: "workspace-service",
      organisation_id: "org-default",
      workspace_id: "ws-default",
      user_id: null,
      status: "active",
      creation_mode: "api",
      source: null,
      scopes: ["configs.create", "configs.read", "configs.update", "configs.delete", "configs.list"],
      expires_at: "2031-01-01T00:00:00.000Z",
      key_transition_expires_at: null,
      created_at: new Date(NOW).toISOString(),
      last_updated_at: new Date(NOW).toISOString(),
    });
    expect(Object.keys(rowOf(api, json["id"])?.resource ?? {}).sort()).toEqual(
      [
        "id",
        "name",
        "type",
        "organisation_id",
        "workspace_id",
        "scopes",
        "expires_at",
        "defaults",
        "rate_limits",
        "allowed_models",
        "allowed_providers",
        "key_sha256",
      ].sort(),
    );
    api.now = Date.parse("2031-01-02");
    expect((await api.ask("GET", `/api-keys/${String(json["id"])}`)).json["status"]).toBe("expired");
  });

  test.each([
    ["no scopes", { scopes: [] }, "scopes"],
    ["a scope that is none", { scopes: ["completion.write"] }, "scopes[0]"],
    ["a default that is not there", { defaults: { config_id: "pc-mian" } }, "defaults.config_id"],
    ["a negative limit", { rate_limits: [{ type: "requests", unit: "rpm", value: -1 }] }, "rate_limits[0].value"],
    ["a limit without a unit", { rate_limits: [{ type: "requests", value: 1 }] }, "rate_limits[0].unit"],
    ["usage limits", { usage_limits: { credit_limit: 1 } }, "usage_limits"],
    ["a date that is none", { expires_at: "soon" }, "expires_at"],
    ["no name", { name: "" }, "name"],
    ["an unknown field", { scope: ["a"] }, "scope"],
  ])("is refused with %s", async (_case, body, param) => {
    const answer = await make(createTestApi(), body);
    expect([answer.status, answer.error.code, answer.error.param]).toEqual([400, "invalid_request", param]);
  });

  test("suggests what was meant", async () => {
    const api = createTestApi();
    expect((await make(api, { scopes: ["completion.write"] })).error.message).toContain('did you mean "completions.write"?');
    expect((await make(api, { defaults: { config_id: "pc-mian" } })).error.message).toContain('did you mean "pc-main"?');
    expect((await make(api, { descriptoin: "x" })).error.message).toContain('did you mean "description"?');
    expect((await make(api, { defaults: { config: "x" } })).error.message).toContain("defaults.config: unknown field");
  });

  test("of a user and of an organisation", async () => {
    const api = createTestApi();
    const user = await make(api, { user_id: "u-1" }, ADMIN, "/api-keys/workspace/user");
    expect(rowOf(api, user.json["id"])).toMatchObject({ details: { user_id: "u-1" }, resource: { type: "workspace-user" } });
    const wide = await make(api, {}, ADMIN, "/api-keys/organisation/service");
    expect(rowOf(api, wide.json["id"])).toMatchObject({
      workspaceId: null,
      resource: { type: "organisation-service", workspace_id: null },
    });
    expect((await make(api, { workspace_id: "ws-default" }, ADMIN, "/api-keys/organisation/service")).status).toBe(400);
    const insider = await api.key(["*"]);
    expect((await make(api, {}, insider, "/api-keys/organisation/service")).status).toBe(403);
  });
});

describe("nobody gives more than he has", () => {
  const OWN = ["workspace_service_api_keys.create", "workspace_service_api_keys.update", "workspace_service_api_keys.rotate", "logs.view"];

  test.each([
    ["*", 403],
    ["completions.write", 403],
    ["logs.*", 403],
    ["logs.view", 200],
  ])("%s: %i", async (scope, status) => {
    const api = createTestApi();
    const caller = await api.key(OWN);
    const made = await make(api, { scopes: [scope] }, caller);
    expect([made.status, made.error.param]).toEqual([status, status === 403 ? "scopes" : null]);
    const own = await make(api, { scopes: ["logs.view"] }, caller);
    expect((await api.ask("PUT", `/api-keys/${String(own.json["id"])}`, { scopes: [scope] }, caller)).status).toBe(status);
  });

  test("not by a new text for a key that may do more", async () => {
    const api = createTestApi();
    const caller = await api.key(OWN);
    const { json } = await make(api, { scopes: ["completions.write"] });
    const answer = await api.ask("POST", `/api-keys/${String(json["id"])}/rotate`, undefined, caller);
    expect([answer.status, answer.error.message]).toEqual([403, expect.stringContaining('"completions.write"')]);
  });

  test("and rights go by type of key", async () => {
    const api = createTestApi();
    const caller = await api.key(["workspace_user_api_keys.read", "workspace_user_api_keys.list", "workspace_user_api_keys.delete"]);
    const { json } = await make(api, {});
    const path = `/api-keys/${String(json["id"])}`;
    expect((await api.ask("GET", path, undefined, caller)).error.message).toContain('"workspace_service_api_keys.read"');
    expect((await api.ask("DELETE", path, undefined, caller)).status).toBe(403);
    expect((await api.ask("GET", "/api-keys", undefined, caller)).json).toMatchObject({ total: 0, data: [] });
  });
});

describe("a change", () => {
  test("keeps what it does not name", async () => {
    const api = createTestApi();
    const { json } = await make(api, { description: "d", defaults: { metadata: { a: "b" } }, allowed_models: ["m"] });
    const path = `/api-keys/${String(json["id"])}`;
    const before = rowOf(api, json["id"])?.resource;
    await api.ask("PUT", path, { defaults: { config_id: "pc-main" } });
    await api.ask("PUT", path, { name: "other", allowed_models: null });
    expect(rowOf(api, json["id"])).toMatchObject({ version: 3, details: { description: "d" } });
    expect(rowOf(api, json["id"])?.resource).toEqual({
      ...before,
      name: "other",
      allowed_models: null,
      defaults: { config_id: "pc-main", metadata: { a: "b" }, allow_config_override: true },
    });
  });

  test("is made on top of what somebody else changed at the same moment", async () => {
    const api = createTestApi();
    const { json } = await make(api, {});
    const path = `/api-keys/${String(json["id"])}`;
    api.saved.before = async () => void (await api.ask("PUT", path, { description: "theirs" }));
    expect((await api.ask("PUT", path, { name: "mine" })).status).toBe(200);
    expect((await api.ask("GET", path)).json).toMatchObject({ name: "mine", description: "theirs" });
  });

  test("is a conflict when it happens again, and nothing is lost", async () => {
    const api = createTestApi();
    const { json } = await make(api, {});
    const path = `/api-keys/${String(json["id"])}`;
    const theirs = (round: number) => async (): Promise<void> => {
      await api.ask("PUT", path, { description: `theirs ${round}` });
      if (round === 1) api.saved.before = theirs(2);
    };
    api.saved.before = theirs(1);
    const answer = await api.ask("PUT", path, { description: "mine" });
    expect([answer.status, answer.error.code]).toEqual([409, "conflict"]);
    expect((await api.ask("GET", path)).json).toMatchObject({ description: "theirs 2" });
  });

  test("of what is gone finds nothing, also a second time", async () => {
    const api = createTestApi();
    const { json } = await make(api, {});
    const path = `/api-keys/${String(json["id"])}`;
    expect((await api.ask("DELETE", path)).status).toBe(200);
    for (const method of ["DELETE", "GET", "PUT"]) expect((await api.ask(method, path, "{}")).status).toBe(404);
  });

  test("that cannot be stored is told as such", async () => {
    const api = createTestApi();
    api.saved.broken = new SavedUnavailable("disk full");
    const answer = await make(api, {});
    expect([answer.status, answer.error.code, answer.headers["retry-after"]]).toEqual([503, "service_unavailable", "1"]);
    expect(answer.text).not.toContain("disk full");
    expect(api.failures).toEqual([api.saved.broken]);
  });
});

describe("another text for a key", () => {
  test("both work until the transition ends, then the new one", async () => {
    const api = createTestApi();
    const { json } = await make(api, {});
    const path = `/api-keys/${String(json["id"])}`;
    const rotated = await api.ask("POST", `${path}/rotate`);
    const ends = new Date(NOW + 1_800_000).toISOString();
    expect(rotated.json).toEqual({ id: json["id"], key: expect.stringMatching(/^ugw-/), key_transition_expires_at: ends });
    const [old, now] = [json["key"], rotated.json["key"]].map((text) => hashOfKey(String(text)).toString("hex"));
    expect(rowOf(api, json["id"])?.keyHashes).toEqual([now, old]);
    expect((await api.ask("GET", path)).json).toMatchObject({ key_transition_expires_at: ends });

    api.now = NOW + 1_799_999;
    expect(await endTransitions(api.deps, () => {})).toBe(0);
    api.now = NOW + 1_800_000;
    expect(await endTransitions(api.deps, () => {})).toBe(1);
    expect(rowOf(api, json["id"])).toMatchObject({ keyHashes: [now], resource: { key_sha256: now } });
    expect((await api.ask("GET", path)).json["key_transition_expires_at"]).toBeNull();
    expect(await endTransitions(api.deps, () => {})).toBe(0);
  });

  test("an end that cannot be stored is told, and tried again", async () => {
    const api = createTestApi();
    const { json } = await make(api, {});
    await api.ask("POST", `/api-keys/${String(json["id"])}/rotate`, { key_transition_period_ms: 1_800_000 });
    api.now = NOW + 2_000_000;
    api.saved.broken = new SavedUnavailable("down");
    const told: unknown[] = [];
    expect(await endTransitions(api.deps, (reason) => told.push(reason))).toBe(0);
    expect(told).toHaveLength(1);
    api.saved.broken = null;
    expect(await endTransitions(api.deps, () => {})).toBe(1);
  });

  test("a transition has at least 30 minutes", async () => {
    const api = createTestApi();
    const { json } = await make(api, {});
    const answer = await api.ask("POST", `/api-keys/${String(json["id"])}/rotate`, { key_transition_period_ms: 1_799_999 });
    expect([answer.status, answer.error.param]).toEqual([400, "key_transition_period_ms"]);
  });
});

test("declared keys and the first ones are listed, and changed where they come from", async () => {
  const api = createTestApi();
  const { json } = await api.ask("GET", "/api-keys");
  expect(json).toMatchObject({
    object: "list",
    total: 2,
    data: [
      { id: "admin", source: "keys.json", key: null },
      { id: "key-web", source: "unigate.yaml", created_at: null },
    ],
  });
  for (const [method, body] of [
    ["PUT", { name: "x" }],
    ["DELETE", undefined],
    ["POST", undefined],
  ] as const) {
    const path = method === "POST" ? "/api-keys/key-web/rotate" : "/api-keys/key-web";
    const answer = await api.ask(method, path, body);
    expect([answer.status, answer.error.code, answer.error.message]).toEqual([409, "conflict", expect.stringContaining("unigate.yaml")]);
  }
});

test("lists are paged and filtered", async () => {
  const api = createTestApi();
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) ids.push(String((await make(api, { name: `k${index}` })).json["id"]));
  const page = async (query: string) => (await api.ask("GET", `/api-keys?${query}`)).json as { total: number; data: { id: string }[] };
  expect((await page("page_size=3&current_page=1")).data.map(({ id }) => id)).toEqual(ids.slice(1, 4));
  expect(await page("page_size=3&current_page=9")).toMatchObject({ total: 7, data: [] });
  expect((await page(`ids=${ids[2]},${ids[0]}`)).data.map(({ id }) => id)).toEqual([ids[0], ids[2]]);
  expect(await page("workspace_id=ws-default")).toMatchObject({ total: 6 });
  for (const query of ["page_size=0", "page_size=1001", "current_page=-1", "page_size=x", "page_size=1&page_size=2"])
    expect((await api.ask("GET", `/api-keys?${query}`)).status, query).toBe(400);
});
