import { makeGatewayKey } from "@unigate/secrets";
import { chatReply, gatewayModes, jsonReply, type ReceivedRequest } from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { chat, QUESTION, send, target, toUpstream, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey, expectSameInEveryMode } from "./stage.ts";

const MOCK = { "x-gateway-provider": "mock" };

describe.each(gatewayModes)("keys and credentials, %s", (mode) => {
  const onlyLogs = declaredKey("only logs", { scopes: ["logs.view"] });
  const onlyChat = declaredKey("only chat", { scopes: ["completions.write"] });
  const expired = declaredKey("expired", { expires_at: "2001-02-03" });
  const bound = declaredKey("bound to one model and provider", { allowed_models: ["gpt-test"], allowed_providers: ["saved"] });
  const fixed = declaredKey("fixed", { defaults: { config_id: "pc-saved", allow_config_override: false } });
  const unfixed = declaredKey("no config", { defaults: { allow_config_override: false } });
  const inTeam = declaredKey("in the team", { workspace: "ws-team", defaults: { metadata: { a: "key", b: "key" } } });
  const inTeamWithOwn = declaredKey("in the team with its own", { workspace: "ws-team", defaults: { config_id: "pc-own" } });
  const presetting = declaredKey("presetting", { defaults: { config_id: "pc-saved" } });
  const stage = useSharedStage(mode, ({ origin }) => ({
    providers: [
      { slug: "saved", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/v1` },
      { slug: "claude", provider: "anthropic", api_key: "sk-claude", custom_host: `${origin}/v1` },
    ],
    configs: [
      { id: "pc-saved", config: { provider: "@saved" } },
      { id: "pc-team", config: { provider: "@saved", override_params: { user: "team" } }, workspace: "ws-team" },
      { id: "pc-own", config: { provider: "openai", api_key: "sk-in-config", custom_host: `${origin}/v1` } },
    ],
    workspaces: [{ id: "ws-team", defaults: { config_id: "pc-team", metadata: { a: "workspace", c: "workspace" } } }],
    keys: [onlyLogs, onlyChat, expired, bound, fixed, presetting, unfixed, inTeam, inTeamWithOwn],
  }));
  beforeEach(() => stage.upstream.always(chatReply("ok")));

  function sent(index = 0): ReceivedRequest {
    const request = stage.upstream.requests[index];
    if (request === undefined) throw new Error("nothing reached the upstream");
    return request;
  }

  describe("who calls", () => {
    const places: [string, (key: string) => Record<string, string>][] = [
      ["x-gateway-api-key", (key) => ({ "x-gateway-api-key": key })],
      ["Authorization", (key) => ({ authorization: `Bearer ${key}` })],
      ["x-api-key", (key) => ({ "x-api-key": key })],
      ["api-key", (key) => ({ "api-key": key })],
      ["x-goog-api-key", (key) => ({ "x-goog-api-key": key })],
    ];
    test.each(places)("a key in %s is taken and does not go on", async (_, headers) => {
      const question = { body: QUESTION, headers: { ...headers(stage.key), "x-gateway-provider": "@saved" } };
      expect((await send(stage.gateway, "/v1/chat/completions", question)).status).toBe(200);
      expect(JSON.stringify(sent().rawHeaders)).not.toContain(stage.key);
      expect(sent().headers["authorization"]).toBe("Bearer sk-saved");
    });
    test.each(places)("the admin key in %s may do everything", async (_, headers) => {
      const question = { body: QUESTION, headers: { ...headers(stage.gateway.adminKey), "x-gateway-provider": "@saved" } };
      expect((await send(stage.gateway, "/v1/chat/completions", question)).status).toBe(200);
      expect(JSON.stringify(sent().rawHeaders)).not.toContain(stage.gateway.adminKey);
      expect((await send(stage.gateway, "/v1/logs", { headers: headers(stage.gateway.adminKey) })).status).toBe(200);
    });

    const cut = makeGatewayKey().slice(0, -3);
    test.each([
      ["none", {}, "missing_key", "No gateway API key was sent"],
      ["an unknown one", { "x-gateway-api-key": makeGatewayKey() }, "invalid_key", "not known"],
      ["a cut one", { "x-gateway-api-key": cut }, "invalid_key", "cut or mistyped"],
      ["something else", { "x-gateway-api-key": "sk-123" }, "invalid_key", "starts with"],
      ["only a provider's credential", { authorization: "Bearer sk-provider" }, "missing_key", "No gateway API key was sent"],
      ["a cut one in Authorization", { authorization: `Bearer ${cut}` }, "missing_key", "No gateway API key was sent"],
    ])("%s is 401", async (name, headers: Record<string, string>, code, text) => {
      const answer = await send(stage.gateway, "/v1/chat/completions", { body: QUESTION, headers: { ...MOCK, ...headers } });
      expect(answer.status).toBe(401);
      expect(answer.error()).toEqual({ message: expect.stringContaining(text), type: "authentication_error", param: null, code });
      expect(answer.text).not.toContain(cut);
      expect(answer.headers["x-gateway-trace-id"]).toMatch(/^[0-9a-f]{32}$/);
      expectSameInEveryMode(`401 ${name}`, answer.error()["code"]);
    });

    test("x-gateway-api-key alone decides, good keys elsewhere do not help", async () => {
      const headers = { "x-gateway-api-key": makeGatewayKey(), authorization: `Bearer ${stage.key}`, ...MOCK };
      expect((await send(stage.gateway, "/v1/chat/completions", { body: QUESTION, headers })).status).toBe(401);
    });

    test("an expired key is 401", async () => {
      const answer = await chat(stage.gateway, expired.key, MOCK);
      expect(answer.status).toBe(401);
      expect(answer.error()["code"]).toBe("key_expired");
    });

    test("a missing scope is 403 and names the scope", async () => {
      const refused = await chat(stage.gateway, onlyLogs.key, MOCK);
      expect(refused.status).toBe(403);
      expect(refused.error()).toMatchObject({ code: "scope_missing", type: "permission_error" });
      expect(refused.error()["message"]).toContain('"completions.write"');
      expect((await send(stage.gateway, "/v1/logs", { headers: { "x-gateway-api-key": onlyLogs.key } })).status).toBe(200);
      expect((await chat(stage.gateway, onlyChat.key, MOCK)).status).toBe(200);
      expect((await send(stage.gateway, "/v1/logs", { headers: { "x-gateway-api-key": onlyChat.key } })).status).toBe(403);
    });
  });

  describe("the four ways to a credential (spec section 5)", () => {
    test("a virtual key", async () => {
      expect((await chat(stage.gateway, stage.key, { "x-gateway-virtual-key": "saved" })).status).toBe(200);
      expect(sent()).toMatchObject({ url: "/v1/chat/completions", headers: { authorization: "Bearer sk-saved" } });
    });

    test.each([
      ["the provider header", { "x-gateway-provider": "@saved" }, {}],
      ["the model", {}, { model: "@saved/gpt-test" }],
    ])("a slug in %s", async (_, headers: Record<string, string>, body) => {
      expect((await chat(stage.gateway, stage.key, headers, body)).status).toBe(200);
      expect(sent().headers["authorization"]).toBe("Bearer sk-saved");
      expect(JSON.parse(String(sent().body))).toEqual(QUESTION);
    });

    test("provider, credential in Authorization, custom host", async () => {
      const answer = await chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin));
      expect(answer.status).toBe(200);
      expect(answer.headers["x-gateway-provider"]).toBe("openai");
      expect(sent().headers["authorization"]).toBe("Bearer sk-upstream");
    });

    test("the credential takes the form that the provider wants", async () => {
      const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", content: [{ type: "text", text: "hi" }] };
      stage.upstream.always(jsonReply({ ...message, stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } }));
      const headers = { ...toUpstream(stage.upstream.origin), "x-gateway-provider": "anthropic" };
      expect((await chat(stage.gateway, stage.key, headers)).status).toBe(200);
      expect(sent()).toMatchObject({ url: "/v1/messages", headers: { "x-api-key": "sk-upstream" } });
      expect(sent().headers["authorization"]).toBeUndefined();
    });

    test("a config: inline, saved with a slug, saved with its own credential", async () => {
      const { origin } = stage.upstream;
      for (const [config, credential] of [
        [JSON.stringify(target(origin)), "Bearer sk-upstream"],
        ["pc-saved", "Bearer sk-saved"],
        ["pc-own", "Bearer sk-in-config"],
      ] as const) {
        stage.upstream.reset();
        stage.upstream.always(chatReply("ok"));
        const answer = await chat(stage.gateway, stage.key, { "x-gateway-config": config });
        expect(answer.status, answer.text).toBe(200);
        expect(sent().headers["authorization"]).toBe(credential);
      }
    });

    test("a config that names no provider decorates what the headers name", async () => {
      const headers = { ...toUpstream(stage.upstream.origin), ...withConfig({ override_params: { seed: 7 }, retry: { attempts: 1 } }) };
      expect((await chat(stage.gateway, stage.key, headers)).status).toBe(200);
      expect(JSON.parse(String(sent().body))).toMatchObject({ seed: 7 });
    });

    test("a provider without any credential is told what to send", async () => {
      const answer = await chat(stage.gateway, stage.key, { "x-gateway-provider": "openai" });
      expect(answer.status).toBe(400);
      expect(answer.error()).toMatchObject({ code: "credential_required", param: "authorization" });
      expect(answer.error()["message"]).toContain("OPENAI_API_KEY");
    });

    test("the gateway key in Authorization is no provider credential", async () => {
      const answer = await chat(stage.gateway, stage.key, { authorization: `Bearer ${stage.key}`, "x-gateway-provider": "openai" });
      expect(answer.error()["code"]).toBe("credential_required");
    });
  });

  test("x-portkey-* is read as x-gateway-*, and answers carry x-gateway-*", async () => {
    const { origin } = stage.upstream;
    const headers = {
      "x-portkey-api-key": stage.key,
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `${origin}/v1`,
      "x-portkey-trace-id": "trace-of-a-mover",
      "x-portkey-metadata": '{"team":"sea"}',
      authorization: "Bearer sk-upstream",
    };
    const answer = await send(stage.gateway, "/v1/chat/completions", { headers, body: QUESTION });
    expect(answer.status).toBe(200);
    expect(answer.headers["x-gateway-trace-id"]).toBe("trace-of-a-mover");
    expect(sent().rawHeaders.join(" ")).not.toMatch(/portkey/i);

    const config = { virtual_key: "saved", strict_open_ai_compliance: false };
    const moved = { "x-portkey-api-key": stage.key, "x-portkey-config": JSON.stringify(config) };
    expect((await send(stage.gateway, "/v1/chat/completions", { headers: moved, body: QUESTION })).status).toBe(200);
  });

  test.each(["/v1/chat/completions", "/v1/embeddings"])("what the client says to the gateway stays there: %s", async (path) => {
    const headers = {
      "x-gateway-api-key": stage.key,
      "x-gateway-provider": "@saved",
      "x-gateway-metadata": '{"a":"b"}',
      "x-portkey-span-name": "s",
      "x-forwarded-for": "10.1.2.3",
      "x-forwarded-host": "inside",
      forwarded: "for=10.1.2.3",
      cookie: "session=1",
      "proxy-authorization": "Basic eDp5",
      "x-api-key": "sk-other",
      connection: "keep-alive, x-secret-hop",
    };
    expect((await send(stage.gateway, path, { headers, body: QUESTION })).status).toBe(200);
    const names = Object.keys(sent().headers);
    expect(names.filter((name) => /^(x-gateway-|x-portkey-|x-forwarded-|forwarded$|cookie$|proxy-|x-api-key$)/.test(name))).toEqual([]);
    expect(sent().headers["authorization"]).toBe("Bearer sk-saved");
  });

  test("forward_headers lets named headers through, and never credentials, cookies or the gateway's own", async () => {
    const forward = ["X-Tenant", "Cookie", "Authorization", "x-gateway-metadata", "x-api-key", "connection"];
    const headers = {
      ...withConfig(target(stage.upstream.origin, { forward_headers: forward })),
      "x-tenant": "t-1",
      "x-unnamed": "no",
      cookie: "session=1",
      "x-gateway-metadata": "{}",
    };
    expect((await chat(stage.gateway, stage.key, headers)).status).toBe(200);
    expect(sent().headers).toMatchObject({ "x-tenant": "t-1", authorization: "Bearer sk-upstream" });
    expect(Object.keys(sent().headers).filter((name) => /^(x-gateway-|cookie$|x-unnamed$|x-api-key$)/.test(name))).toEqual([]);
  });

  describe("what a key may use", () => {
    test("only its models", async () => {
      const refused = await chat(stage.gateway, bound.key, { "x-gateway-provider": "@saved" }, { model: "gpt-other" });
      expect(refused.status).toBe(412);
      expect(refused.error()).toMatchObject({ code: "model_not_allowed", type: "model_not_allowed_error", param: "model" });
      expect((await chat(stage.gateway, bound.key, { "x-gateway-provider": "@saved" })).status).toBe(200);
      expect((await chat(stage.gateway, bound.key, {}, { model: "@saved/gpt-test" })).status).toBe(200);
    });

    test("only its models, whatever sets the model", async () => {
      const config = withConfig({ provider: "@saved", override_params: { model: "gpt-other" } });
      expect((await chat(stage.gateway, bound.key, config)).status).toBe(412);
      expect(stage.upstream.requests).toEqual([]);
    });

    test("only its models, proxied requests too", async () => {
      const headers = { "x-gateway-api-key": bound.key, "x-gateway-provider": "@saved" };
      const refused = await send(stage.gateway, "/v1/embeddings", { headers, body: { model: "text-other", input: "x" } });
      expect(refused.status).toBe(412);
      expect(stage.upstream.requests).toEqual([]);
    });

    test("only its providers", async () => {
      const refused = await chat(stage.gateway, bound.key, { "x-gateway-provider": "@claude" });
      expect(refused.status).toBe(412);
      expect(refused.error()["code"]).toBe("provider_not_allowed");
    });

    test("only its providers, with a credential of its own too", async () => {
      const refused = await chat(stage.gateway, bound.key, toUpstream(stage.upstream.origin));
      expect(refused.status).toBe(412);
      expect(stage.upstream.requests).toEqual([]);
    });

    test("/v1/models shows only those", async () => {
      const answer = await send(stage.gateway, "/v1/models", { headers: { "x-gateway-api-key": bound.key } });
      const ids = (answer.json()["data"] as { id: string }[]).map(({ id }) => id);
      expect(ids.filter((id) => !id.startsWith("@saved/"))).toEqual([]);
    });
  });

  describe("a key's own config", () => {
    test("is used without a header, and a header goes before it", async () => {
      expect((await chat(stage.gateway, presetting.key, {})).status).toBe(200);
      expect(sent().headers["authorization"]).toBe("Bearer sk-saved");
      expect((await chat(stage.gateway, presetting.key, { "x-gateway-config": "pc-own" })).status).toBe(200);
      expect(sent(1).headers["authorization"]).toBe("Bearer sk-in-config");
    });

    test("cannot be replaced when the key forbids it", async () => {
      expect((await chat(stage.gateway, fixed.key, {})).status).toBe(200);
      for (const config of ["pc-own", JSON.stringify(target(stage.upstream.origin))]) {
        const refused = await chat(stage.gateway, fixed.key, { "x-gateway-config": config });
        expect(refused.status).toBe(400);
        expect(refused.error()).toMatchObject({ code: "config_override_forbidden", param: "x-gateway-config" });
      }
      expect(stage.upstream.requests.length).toBe(1);
    });
  });

  describe("a workspace's defaults", () => {
    test("its config is used when neither request nor key has one", async () => {
      expect((await chat(stage.gateway, inTeam.key, {})).status).toBe(200);
      expect(JSON.parse(String(sent().body))).toMatchObject({ user: "team" });
      expect((await chat(stage.gateway, inTeamWithOwn.key, {})).status).toBe(200);
      expect(sent(1).headers["authorization"]).toBe("Bearer sk-in-config");
      expect((await chat(stage.gateway, inTeam.key, { "x-gateway-config": "pc-own" })).status).toBe(200);
      expect(sent(2).headers["authorization"]).toBe("Bearer sk-in-config");
    });

    test("its metadata wins over the key's, and that over the request's", async () => {
      const metadata = JSON.stringify({ a: "request", b: "request", d: "request" });
      const answer = await chat(stage.gateway, inTeam.key, { "x-gateway-metadata": metadata });
      const [record] = await logsOf(stage.gateway, inTeam.key, String(answer.headers["x-gateway-trace-id"]), 1);
      expect(record?.["metadata"]).toEqual({ a: "workspace", b: "key", c: "workspace", d: "request" });
      expect(record).toMatchObject({ workspace_id: "ws-team", config_id: "pc-team" });
    });

    test("a key that may bring no config may bring none, whether there is a default or not", async () => {
      const refused = await chat(stage.gateway, unfixed.key, { "x-gateway-config": "pc-own" });
      expect([refused.status, refused.error()["code"]]).toEqual([400, "config_override_forbidden"]);
      expect((await chat(stage.gateway, unfixed.key, MOCK)).status).toBe(200);
    });

    test("a key of a user tells who that is", async () => {
      const made = await send(stage.gateway, "/v1/api-keys/workspace/user", {
        headers: { "x-gateway-api-key": stage.gateway.adminKey },
        body: { name: "of a user", scopes: ["completions.write", "logs.view"], user_id: "u-7", workspace_id: "ws-team" },
      });
      const key = String(made.json()["key"]);
      const answer = await chat(stage.gateway, key, { "x-gateway-metadata": '{"_user":"somebody else"}' });
      expect(answer.status, answer.text).toBe(200);
      const [record] = await logsOf(stage.gateway, inTeam.key, String(answer.headers["x-gateway-trace-id"]), 1);
      expect(record?.["metadata"]).toMatchObject({ _user: "u-7", a: "workspace" });
    });
  });

  test("the OpenAI SDK needs a base URL and a key, nothing else", async () => {
    const sdk = openAi(stage.gateway, presetting.key);
    const completion = await sdk.chat.completions.create({ ...QUESTION, messages: [{ role: "user", content: "hi" }] });
    expect(completion.choices[0]?.message.content).toBe("ok");
  });
});
