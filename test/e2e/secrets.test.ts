import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@unigate/core";
import { makeGatewayKey } from "@unigate/secrets";
import {
  chatChunk,
  chatReply,
  chatStreamReply,
  cutReply,
  errorReply,
  type GatewayService,
  hangReply,
  jsonReply,
  rawReply,
  sseReply,
  until,
} from "@unigate/testkit";
import { beforeAll, describe, expect, test } from "vitest";
import { Canaries, filesBelow } from "./canaries.ts";
import { setups } from "./engines.ts";
import { type Answer, openConnection, QUESTION, type Question, requestHead, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { useStage } from "./stage.ts";

const SERVICES: GatewayService[] = ["control", "logging", "router", "cache", "policy", "guardrail", "connector", "edge"];
const CHAT = "/v1/chat/completions";

describe.each(setups)("secrets, %s", (mode) => {
  const canaries = new Canaries();
  const adminKey = canaries.make("admin-key");
  const gatewayKey = canaries.add("gateway-key", makeGatewayKey());
  const expiredKey = canaries.add("expired-key", makeGatewayKey());
  const unknownKey = canaries.add("unknown-key", makeGatewayKey());
  const header = canaries.make("authorization");
  const inline = canaries.make("inline-config");
  const forwarded = canaries.make("forwarded");
  const passing = canaries.make("passing");
  const query = canaries.make("query");
  const userinfo = canaries.make("userinfo");
  const cloud = canaries.make("cloud-field");
  const savedInFile = canaries.make("declared-provider");
  const savedByEnv = canaries.make("env-reference");
  const savedInConfig = canaries.make("declared-config");
  const fromEnv = canaries.make("provider-env");

  const stage = useStage(mode, {
    env: {
      UNIGATE_LOG_LEVEL: "trace",
      UNIGATE_ADMIN_KEY: adminKey,
      // The mesh makes its own, in a file.
      ...(mode === "single" ? { UNIGATE_MASTER_KEY: canaries.add("master-key", randomBytes(32).toString("base64")) } : {}),
      UNIGATE_MESH_TOKEN: canaries.make("mesh-token"),
      ANTHROPIC_API_KEY: fromEnv,
      SAVED_KEY: savedByEnv,
    },
    config: ({ origin }) => ({
      version: 1,
      providers: [
        { slug: "saved", provider: "openai", api_key: savedInFile, custom_host: `${origin}/v1` },
        { slug: "env", provider: "openai", api_key: "${SAVED_KEY}", custom_host: `${origin}/v1?token=${encodeURIComponent(query)}` },
      ],
      configs: [{ id: "pc-own", config: { provider: "openai", api_key: savedInConfig, custom_host: `${origin}/v1` } }],
      keys: [
        { name: "canary", key: gatewayKey, scopes: ["*"] },
        { name: "expired", key: expiredKey, scopes: ["*"], expires_at: "2001-02-03" },
      ],
    }),
  });

  beforeAll(() => {
    canaries.add("first-workspace-key", stage.key);
    const made = filesBelow(stage.gateway.dataDir).find(({ path }) => path.endsWith("master.key"));
    if (made !== undefined) canaries.add("master-key", String(made.bytes).trim());
  });

  const heard: { what: string; text: string }[] = [];
  let asked = 0;

  /** One request and its answer, which is kept for the search; a connection that breaks is an answer too. */
  async function ask(what: string, path: string, question: Question): Promise<Answer | null> {
    const headers = { "x-gateway-trace-id": `secrets-${mode}-${asked++}`, ...question.headers };
    try {
      const answer = await send(stage.gateway, path, { ...question, headers });
      heard.push({ what, text: JSON.stringify(answer.headers) + answer.text });
      return answer;
    } catch (error) {
      heard.push({ what, text: String(error) });
      return null;
    }
  }

  /** Each way that a credential can come with a request; the upstream is the scripted one. */
  function ways(): [string, Record<string, string>][] {
    const { origin } = stage.upstream;
    const host = `${origin}/v1`;
    const named = { "x-gateway-api-key": gatewayKey, "x-gateway-provider": "openai", "x-gateway-custom-host": host };
    const config = target(origin, {
      api_key: inline,
      forward_headers: ["x-tenant-token"],
      cloud_secret_access_key: cloud,
      aws_session_token: cloud,
      vertex_service_account_json: { private_key: cloud },
    });
    return [
      ["Authorization", { ...named, authorization: `Bearer ${header}` }],
      ["x-api-key", { ...named, "x-api-key": header }],
      [
        "a query of the custom host",
        { ...named, authorization: `Bearer ${header}`, "x-gateway-custom-host": `${host}?key=${encodeURIComponent(query)}` },
      ],
      [
        "cookies and proxies",
        { ...named, authorization: `Bearer ${header}`, cookie: `a=${passing}`, "proxy-authorization": `Basic ${passing}` },
      ],
      ["an inline config", { "x-gateway-api-key": gatewayKey, "x-tenant-token": forwarded, ...withConfig(config) }],
      ["a header of cloud fields", { ...named, authorization: `Bearer ${header}`, "x-gateway-aws-secret-access-key": cloud }],
      ["a saved provider", { "x-gateway-api-key": gatewayKey, "x-gateway-provider": "@saved" }],
      ["a saved provider with a reference", { "x-gateway-api-key": gatewayKey, "x-gateway-virtual-key": "env" }],
      ["a saved config", { "x-gateway-api-key": gatewayKey, "x-gateway-config": "pc-own" }],
      [
        "a fallback of two",
        { "x-gateway-api-key": gatewayKey, ...withConfig({ strategy: { mode: "fallback" }, targets: [config, { provider: "@saved" }] }) },
      ],
      ...["authorization", "x-api-key", "api-key", "x-goog-api-key"].map((name): [string, Record<string, string>] => [
        `a gateway key in ${name}`,
        { [name]: name === "authorization" ? `Bearer ${gatewayKey}` : gatewayKey, "x-gateway-provider": "@saved" },
      ]),
      ["the admin key", { authorization: `Bearer ${adminKey}`, "x-gateway-provider": "@saved" }],
    ];
  }

  test("travel with requests that succeed, fail, break and are refused", async () => {
    const begun = [chatChunk({ role: "assistant", content: "" }), chatChunk({ content: "half" })];
    const faults = [
      chatReply("ok"),
      errorReply(401, "no"),
      errorReply(500, "no"),
      jsonReply([]),
      rawReply("garbage\r\n\r\n"),
      cutReply(),
      sseReply(begun, { ending: "cut" }),
      sseReply([...begun, "data: {oops\n\n"]),
      chatStreamReply(["whole"]),
    ];
    for (const [way, headers] of ways()) {
      for (const fault of faults) {
        stage.upstream.always(fault);
        for (const stream of [false, true]) await ask(way, CHAT, { headers, body: { ...QUESTION, stream } });
      }
      stage.upstream.always(jsonReply({ object: "list" }));
      await ask(`proxied, ${way}`, `/v1/files?key=${encodeURIComponent(query)}`, { headers });
      await ask(`proxied, ${way}`, "/v1/embeddings", { headers, body: { input: "x" } });
      await ask(`uploaded, ${way}`, "/v1/files", { headers: { ...headers, "content-type": "text/plain" }, body: "file" });
      stage.upstream.always(hangReply());
      await ask(`timed out, ${way}`, CHAT, { headers: { ...headers, "x-gateway-request-timeout": "20" }, body: QUESTION });
      await ask(`refused, ${way}`, CHAT, { headers, body: { ...QUESTION, temperature: 9 } });
      await ask(`malformed, ${way}`, CHAT, { headers: { ...headers, "content-type": "application/json" }, body: '{"model":' });
    }
    // The search below would prove nothing if they had never been there.
    const sent = JSON.stringify(stage.upstream.requests.map(({ rawHeaders, url }) => [rawHeaders, url]));
    const reached = ["authorization", "inline-config", "forwarded", "query", "declared-provider", "env-reference", "declared-config"];
    expect(canaries.foundIn(sent).sort()).toEqual(reached.sort());
  });

  test("travel with requests that no target sees", async () => {
    const { origin } = stage.upstream;
    const key = { "x-gateway-api-key": gatewayKey };
    const credential = { ...key, "x-gateway-provider": "openai", authorization: `Bearer ${header}` };
    const bad = { api_key: inline, provider: "openai", retry: { attempts: "many" } };
    const denied = { id: "h", deny: true, checks: [{ id: "default.contains", parameters: { operator: "any", words: ["absent"] } }] };
    const refused: [string, Record<string, string>][] = [
      ["an unknown key", { "x-gateway-api-key": unknownKey }],
      ["an unknown key in Authorization", { authorization: `Bearer ${unknownKey}` }],
      ["an expired key", { "x-gateway-api-key": expiredKey }],
      ["a key cut short", { "x-gateway-api-key": gatewayKey.slice(0, -2) }],
      ["a provider's key alone", { authorization: `Bearer ${header}`, "x-gateway-provider": "openai" }],
      ["a provider's key as the gateway's", { "x-gateway-api-key": header }],
      ["an unknown provider", { ...credential, "x-gateway-provider": "nothing" }],
      ["an invalid config", { ...key, ...withConfig(bad) }],
      ["a config with unknown fields", { ...key, ...withConfig({ ...target(origin), api_keys: inline, targets_: [{ api_key: inline }] }) }],
      ["a config that is no JSON", { ...key, "x-gateway-config": `{"api_key":"${inline}",` }],
      ["a key in place of a config", { ...key, "x-gateway-config": inline }],
      ["metadata that is no JSON", { ...credential, "x-gateway-metadata": `{"token":"${passing}"` }],
      [
        "an address with a password",
        { ...credential, "x-gateway-custom-host": `http://user:${encodeURIComponent(userinfo)}@127.0.0.1/v1` },
      ],
      [
        "an address that is refused",
        { ...credential, "x-gateway-custom-host": `http://169.254.169.254/?key=${encodeURIComponent(query)}` },
      ],
      ["an address where nobody is", { ...credential, "x-gateway-custom-host": `http://127.0.0.1:1/v1?key=${encodeURIComponent(query)}` }],
      ["a saved credential for a host of the caller's", { ...key, "x-gateway-provider": "@saved", "x-gateway-custom-host": origin }],
      ["a denial", { ...key, ...withConfig(target(origin, { api_key: inline, before_request_hooks: [denied] })) }],
    ];
    for (const [what, headers] of refused) {
      stage.upstream.always(chatReply("ok"));
      const answer = await ask(what, CHAT, { headers, body: QUESTION });
      if (what !== "a config with unknown fields") expect(answer?.status, what).toBeGreaterThanOrEqual(400);
    }
    for (const path of ["/v1/models", "/v1/logs", "/v1/logs/nothing", "/v1/configs", "/v1/providers/saved", "/v1/api-keys", "/nothing"])
      for (const own of [gatewayKey, adminKey]) await ask(path, path, { headers: { authorization: `Bearer ${own}` } });
    await ask("a wrong method", CHAT, { method: "PATCH", headers: credential });
    const raw = openConnection(stage.gateway);
    raw.write(requestHead(`POST ${CHAT}`, { ...credential, "content-length": "x" }));
    await until("the answer to what is no HTTP", () => raw.closed);
    heard.push({ what: "no HTTP", text: raw.received() });
  });

  describe("are in none of", () => {
    test("the answers", () => {
      expect(heard.length).toBeGreaterThan(300);
      expect(heard.filter(({ text }) => canaries.foundIn(text).length > 0)).toEqual([]);
    });

    test("the request logs", async () => {
      await logsOf(stage.gateway, adminKey, `secrets-${mode}-0`, 1);
      const headers = { "x-gateway-api-key": adminKey };
      const all: JsonObject[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const page = (await send(stage.gateway, `/v1/logs?limit=100&cursor=${encodeURIComponent(cursor)}`, { headers })).json();
        expect(canaries.foundIn(JSON.stringify(page))).toEqual([]);
        all.push(...(page["data"] as JsonObject[]));
        cursor = page["next_cursor"] as string | null;
      }
      expect(all.length).toBeGreaterThan(300);
      for (const { id, path } of all) {
        const { text } = await send(stage.gateway, `/v1/logs/${String(id)}`, { headers });
        expect(canaries.foundIn(text), `${String(path)}: ${text}`).toEqual([]);
      }
    });

    test("the process log, at its loudest", () => {
      const said = stage.gateway.output();
      expect(said.split("\n").filter((line) => canaries.foundIn(line).length > 0)).toEqual([]);
    });

    test.each(["/metrics", "/openapi.json", "/", "/healthz", "/readyz"])("%s", async (path) => {
      const answer = await send(stage.gateway, path);
      expect(answer.status).toBe(200);
      expect(canaries.foundIn(answer.text)).toEqual([]);
    });

    test("the data folder, which is for its owner only; keys are hashes, and the master key stands in its own file", () => {
      const { dataDir } = stage.gateway;
      const files = filesBelow(dataDir);
      const holders = files.filter(({ bytes }) => canaries.foundIn(bytes).length > 0);
      expect(holders.map(({ path, bytes, mode: bits }) => [path, canaries.foundIn(bytes), bits])).toEqual(
        mode !== "single" ? [[join(dataDir, "master.key"), ["master-key"], 0o600]] : [],
      );
      const keys = files.find(({ path }) => path.endsWith("keys.json"));
      const stored = (JSON.parse(String(keys?.bytes)) as { keys: JsonObject[] }).keys;
      expect(stored.map((key) => [key["key"], typeof key["key_sha256"]])).toEqual([[undefined, "string"]]);
      expect(statSync(dataDir).mode & 0o077).toBe(0);
    });

    test.runIf(existsSync("/proc/self/cmdline"))("the command lines of its processes", () => {
      for (const service of SERVICES) {
        const line = readFileSync(`/proc/${stage.gateway.pid(service)}/cmdline`);
        expect(line.length).toBeGreaterThan(10);
        expect(canaries.foundIn(line)).toEqual([]);
      }
    });
  });
});
