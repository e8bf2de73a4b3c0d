import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@unigate/core";
import {
  chatReply,
  type Gateway,
  type GatewayMode,
  removeFolder,
  startGateway,
  startUpstream,
  type Upstream,
  until,
} from "@unigate/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Canaries, filesBelow } from "./canaries.ts";
import { type OwnEngines, setups, takeEngines } from "./engines.ts";
import { type Answer, chat, QUESTION, send } from "./http.ts";
import { openAi } from "./sdk.ts";

/** What is changed holds for the next request within this time, ms. */
const PROMISED_MS = 1_000;

describe.each(setups)("the management API, %s", (setup) => {
  const canaries = new Canaries();
  const admin = canaries.make("admin-key");
  const credential = canaries.make("virtual-key");
  const renewed = canaries.make("virtual-key-renewed");
  const integrated = canaries.make("integration");
  const inConfig = canaries.make("config");
  const header = canaries.make("webhook-header");
  const mode: GatewayMode = setup === "mesh-engines" ? "mesh" : setup;
  const dataDir = mkdtempSync(join(tmpdir(), "unigate-managed-"));
  const heard: string[] = [];
  let said = "";
  let engines: OwnEngines | null = null;
  let upstream: Upstream;
  let gateway: Gateway;

  async function start(): Promise<void> {
    gateway = await startGateway({
      mode,
      config: { version: 1, configs: [{ id: "pc-declared", config: { provider: "mock" } }] },
      env: { UNIGATE_DATA_DIR: join(dataDir, "data"), UNIGATE_ADMIN_KEY: admin, UNIGATE_LOG_LEVEL: "trace", ...engines?.env },
    });
  }
  async function stop(): Promise<void> {
    said += gateway.output();
    await gateway.stop();
  }
  beforeAll(async () => {
    engines = setup === "mesh-engines" ? await takeEngines() : null;
    upstream = await startUpstream();
    await start();
  });
  beforeEach(() => {
    upstream.reset();
    upstream.always(chatReply("ok"));
  });
  afterAll(async () => {
    await stop();
    await upstream.close();
    await engines?.release();
    removeFolder(dataDir);
  });

  async function manage(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: object, key = admin): Promise<Answer> {
    const answer = await send(gateway, `/v1${path}`, {
      method,
      headers: { "x-gateway-api-key": key },
      ...(body === undefined ? {} : { body }),
    });
    heard.push(JSON.stringify(answer.headers) + answer.text);
    return answer;
  }
  async function made(path: string, body: object): Promise<JsonObject> {
    const answer = await manage("POST", path, body);
    expect(answer.status, answer.text).toBe(200);
    const json = answer.json();
    return (json["data"] ?? json) as JsonObject;
  }
  async function changed(path: string, body: object): Promise<void> {
    const answer = await manage("PUT", `${path}${path.includes("?") ? "&" : "?"}organisation_id=${organisation}`, body);
    expect(answer.status, answer.text).toBe(200);
  }
  /** Asks until it is so; fails when that takes longer than was promised. */
  async function soon(what: string, isSo: () => Promise<boolean>): Promise<void> {
    await until(what, isSo, PROMISED_MS + 500);
  }
  const lastBody = (): JsonObject => JSON.parse(upstream.requests.at(-1)?.body.toString() ?? "{}") as JsonObject;
  const lastCredential = (): unknown => upstream.requests.at(-1)?.headers["authorization"];
  const ask = (key = keyText, headers: Record<string, string> = {}): Promise<Answer> => chat(gateway, key, headers);
  const statusOf = async (key?: string): Promise<number> => (await ask(key)).status;

  let organisation = "";
  let workspace = "";
  let config = "";
  let keyId = "";
  let keyText = "";

  test("from nothing to a key that an SDK can use", async () => {
    organisation = String((await made("/admin/organisations", { name: "Acme" }))["id"]);
    workspace = String((await made("/admin/workspaces", { name: "Web", organisation_id: organisation }))["id"]);
    const place = { organisation_id: organisation, workspace_id: workspace };
    const host = { custom_host: `${upstream.origin}/v1` };
    await made("/virtual-keys", { name: "main", slug: "main", provider: "openai", key: credential, ...host, ...place });
    const body = { provider: "@main", retry: { attempts: 1 } };
    config = String((await made("/configs", { name: "Chat", config: body, ...place }))["slug"]);
    const key = await made("/api-keys/workspace/service", {
      name: "web",
      scopes: ["completions.write", "models.list"],
      defaults: { config_id: config, metadata: { team: "web" } },
      ...place,
    });
    keyId = String(key["id"]);
    keyText = canaries.add("saved-key", String(key["key"]));
    const client = openAi(gateway, keyText);
    const completion = await client.chat.completions.create({ model: "gpt-test", messages: [{ role: "user", content: "Hello" }] });
    expect(completion.choices[0]?.message.content).toBe("ok");
    expect(lastCredential()).toBe(`Bearer ${credential}`);
    const models = await client.models.list();
    expect(models.data.every(({ id }) => id.startsWith("@main/"))).toBe(true);
  });

  test("another config and another credential hold within a second", async () => {
    await changed(`/configs/${config}`, { config: { provider: "@main", override_params: { model: "gpt-other" } } });
    await soon("the other model", async () => (await ask()).status === 200 && lastBody()["model"] === "gpt-other");
    await changed("/virtual-keys/main", { key: renewed });
    await soon("the other credential", async () => (await ask()).status === 200 && lastCredential() === `Bearer ${renewed}`);
    const { data } = (await manage("GET", `/configs/${config}/versions?organisation_id=${organisation}`)).json() as { data: JsonObject[] };
    expect(data.map(({ version }) => version)).toEqual([2, 1]);
  });

  test("a stored credential is sent nowhere else unless it is given again", async () => {
    const path = `/virtual-keys/main?organisation_id=${organisation}`;
    for (const change of [{ custom_host: `${upstream.origin}/elsewhere/v1` }, { allow_custom_host: true }]) {
      const refused = await manage("PUT", path, change);
      expect([refused.status, refused.error()["param"]]).toEqual([400, Object.keys(change)[0]]);
      expect(refused.error()["message"]).toContain('"key"');
    }
    const elsewhere = { provider: "@main", custom_host: `${upstream.origin}/elsewhere/v1` };
    const refusedConfig = await manage("POST", "/configs", { name: "x", config: elsewhere, organisation_id: organisation });
    expect([refusedConfig.status, refusedConfig.error()["param"]]).toEqual([400, "config.custom_host"]);
    expect([(await ask()).status, upstream.requests.at(-1)?.url]).toEqual([200, "/v1/chat/completions"]);
  });

  test("an integration, a guardrail and credentials in a config work as declared ones do", async () => {
    const place = { organisation_id: organisation };
    const configurations = { custom_host: `${upstream.origin}/integrated/v1` };
    await made("/integrations", { name: "i", slug: "company", ai_provider_id: "openai", key: integrated, configurations, ...place });
    expect((await ask(keyText, { "x-gateway-config": JSON.stringify({ provider: "@company" }) })).status).toBe(200);
    expect([upstream.requests.at(-1)?.url, lastCredential()]).toEqual(["/integrated/v1/chat/completions", `Bearer ${integrated}`]);

    const own = { provider: "openai", api_key: inConfig, custom_host: `${upstream.origin}/own/v1` };
    const saved = String((await made("/configs", { name: "own", config: own, ...place }))["slug"]);
    expect((await ask(keyText, { "x-gateway-config": saved })).status).toBe(200);
    expect([upstream.requests.at(-1)?.url, lastCredential()]).toEqual(["/own/v1/chat/completions", `Bearer ${inConfig}`]);

    const words = { id: "default.contains", parameters: { operator: "none", words: ["Hello"] } };
    const hook = { id: "default.webhook", parameters: { webhookURL: `${upstream.origin}/hook`, headers: { authorization: header } } };
    const guardrail = String((await made("/guardrails", { name: "g", checks: [words, hook], actions: { deny: true }, ...place }))["id"]);
    const guarded = JSON.stringify({ provider: "@main", input_guardrails: [guardrail] });
    expect((await ask(keyText, { "x-gateway-config": guarded })).status).toBe(446);
    expect(upstream.requests.find(({ url }) => url === "/hook")?.headers["authorization"]).toBe(header);
  });

  test("a model that an integration switches off is refused, and no workspace without access uses it", async () => {
    const place = { organisation_id: organisation };
    const other = String((await made("/workspaces", { name: "Other", ...place }))["id"]);
    const scopes = ["completions.write", "models.list"];
    const key = await made("/api-keys/workspace/service", { name: "other", scopes, ...place, workspace_id: other });
    const otherText = canaries.add("other-workspace-key", String(key["key"]));
    const company = { "x-gateway-config": JSON.stringify({ provider: "@company" }) };
    const statusIn = async (text: string): Promise<number> => (await ask(text, company)).status;
    const listed = async (text: string): Promise<string> =>
      (await send(gateway, "/v1/models", { headers: { "x-gateway-api-key": text } })).text;

    await changed("/integrations/company/models", { models: [{ slug: "gpt-test", enabled: false }] });
    await soon("a model that is off", async () => (await statusIn(keyText)) === 412);
    const refused = await ask(keyText, company);
    expect(refused.error()).toMatchObject({ code: "model_not_allowed", message: expect.stringContaining("@company") });
    await changed("/integrations/company/models", { models: [{ slug: "gpt-test", enabled: true }], allow_all_models: false });
    await soon("a model that is on", async () => (await statusIn(keyText)) === 200);
    expect(JSON.parse(await listed(keyText)).data.filter(({ id }: { id: string }) => id.startsWith("@company/"))).toMatchObject([
      { id: "@company/gpt-test" },
    ]);

    expect(await statusIn(otherText)).toBe(200);
    await changed("/integrations/company/workspaces", { workspaces: [{ id: workspace, enabled: true }] });
    await soon("a provider that is not there", async () => (await statusIn(otherText)) === 400);
    expect((await ask(otherText, company)).error()).toMatchObject({ code: "unknown_provider" });
    await soon("a list without it", async () => !(await listed(otherText)).includes("@company/"));
    expect(await statusIn(keyText)).toBe(200);
    await changed("/integrations/company/workspaces", { workspaces: [{ id: other, enabled: true }] });
    await soon("a provider that is there again", async () => (await statusIn(otherText)) === 200);
  });

  test("a policy holds while it is active", async () => {
    const rule = {
      conditions: [{ key: "metadata.team", value: "web" }],
      group_by: [{ key: "api_key" }],
      type: "requests",
      unit: "rpd",
      value: 0,
    };
    const { id } = await made("/policies/rate-limits", { ...rule, organisation_id: organisation });
    await soon("the policy", async () => (await statusOf()) === 429);
    expect((await manage("DELETE", `/policies/rate-limits/${String(id)}?organisation_id=${organisation}`)).status).toBe(200);
    await soon("no policy", async () => (await statusOf()) === 200);
  });

  test("a key is given another text, is narrowed, and is revoked", async () => {
    const path = `/api-keys/${keyId}`;
    const rotated = await made(`${path}/rotate?organisation_id=${organisation}`, {});
    const newText = canaries.add("rotated-key", String(rotated["key"]));
    for (const text of [newText, keyText]) expect(await statusOf(text)).toBe(200);
    await changed(path, { allowed_models: ["nothing"] });
    await soon("a model that is not allowed", async () => (await statusOf(newText)) === 412);
    await changed(path, { allowed_models: null });
    await soon("all models", async () => (await statusOf(newText)) === 200);

    const other = await made("/api-keys/workspace/service", {
      name: "x",
      scopes: ["completions.write"],
      organisation_id: organisation,
      workspace_id: workspace,
    });
    const otherText = canaries.add("revoked-key", String(other["key"]));
    const headers = { "x-gateway-provider": "@main" };
    expect((await ask(otherText, headers)).status).toBe(200);
    const gone = `/api-keys/${String(other["id"])}?organisation_id=${organisation}`;
    expect((await manage("DELETE", gone)).status).toBe(200);
    await soon("a key that is refused", async () => (await ask(otherText, headers)).status === 401);
    expect((await manage("DELETE", gone)).status).toBe(404);
    keyText = newText;
  });

  test("a saved key manages with its scopes in its own place", async () => {
    const body = {
      name: "manager",
      scopes: ["configs.*", "workspace_service_api_keys.create"],
      organisation_id: organisation,
      workspace_id: workspace,
    };
    const text = canaries.add("manager-key", String((await made("/api-keys/workspace/service", body))["key"]));
    const list = (await manage("GET", "/configs", undefined, text)).json();
    expect(list).toMatchObject({ object: "list", total: 2 });
    expect((await manage("GET", "/configs/pc-declared", undefined, text)).status).toBe(404);
    expect((await manage("GET", "/virtual-keys", undefined, text)).error()).toMatchObject({
      code: "scope_missing",
      message: expect.stringContaining("virtual_keys.list"),
    });
    const more = { name: "more", scopes: ["completions.write"] };
    expect((await manage("POST", "/api-keys/workspace/service", more, text)).status).toBe(403);
  });

  test("what is declared is read-only and names its file; mistakes are told by their field", async () => {
    const declared = await manage("PUT", "/configs/pc-declared", { name: "x" });
    expect([declared.status, declared.error()["message"]]).toEqual([409, expect.stringContaining("unigate.yaml")]);
    const wrong = await manage("POST", "/configs", { name: "x", config: { provider: "mock", retrys: {} } });
    expect([wrong.status, wrong.error()["param"]]).toEqual([400, "config.retrys"]);
    expect((await manage("DELETE", "/configs")).headers["allow"]).toBe("POST, GET");
    expect((await send(gateway, "/v1/configs", { method: "PATCH", headers: { "x-gateway-api-key": admin } })).status).toBe(405);
  });

  test("all is there after a restart", async () => {
    const paths = [
      "/workspaces",
      "/api-keys",
      "/virtual-keys",
      "/integrations",
      "/integrations/company/models",
      "/integrations/company/workspaces",
      "/configs",
      "/guardrails",
      "/policies/rate-limits?status=archived",
    ];
    const all = async (): Promise<JsonObject[]> =>
      Promise.all(
        paths.map(async (path) => (await manage("GET", `${path}${path.includes("?") ? "&" : "?"}organisation_id=${organisation}`)).json()),
      );
    const before = await all();
    expect(before.map(({ total }) => total)).toEqual([3, 3, 2, 1, expect.any(Number), 3, 2, 1, 1]);
    await stop();
    await start();
    expect(await all()).toEqual(before);
    const answer = await send(gateway, "/v1/chat/completions", { headers: { authorization: `Bearer ${keyText}` }, body: QUESTION });
    expect([answer.status, lastCredential(), lastBody()["model"]]).toEqual([200, `Bearer ${renewed}`, "gpt-other"]);
  });

  test("no secret is in an answer, a log, or a file", () => {
    const shown = ["saved-key", "other-workspace-key", "rotated-key", "revoked-key", "manager-key"];
    expect(heard.length).toBeGreaterThan(40);
    // The text of a key is shown when it is made, and then never again.
    expect(heard.flatMap((text) => canaries.foundIn(text)).sort()).toEqual([...shown].sort());
    expect(canaries.foundIn(said + gateway.output())).toEqual([]);
    const files = filesBelow(dataDir).filter(({ bytes }) => canaries.foundIn(bytes).length > 0);
    expect(files.map(({ path, bytes }) => [path, canaries.foundIn(bytes)])).toEqual([]);
  });
});
