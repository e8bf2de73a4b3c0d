import { lookup } from "node:dns/promises";
import { hostname } from "node:os";
import { chatReply, gatewayModes, jsonReply, reply, startUpstream, type Upstream } from "@unigate/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { expectError } from "./envelope.ts";
import { type Answer, chat, QUESTION, send, target, toUpstream, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { expectSameInEveryMode, useStage } from "./stage.ts";

// A gateway that listens on more than loopback is a server: what its users name may not lead into its own network.
const AS_A_SERVER = { HOST: "0.0.0.0" };

/** Spellings of places that no user may reach; PORT is that of an upstream which would answer. */
const REFUSED: [host: string, why: string][] = [
  ["http://127.0.0.1:PORT", "private address"],
  ["http://127.1.2.3:PORT", "private address"],
  ["http://0.0.0.0:PORT", "private address"],
  ["http://10.0.0.1", "private address"],
  ["http://172.16.0.1", "private address"],
  ["http://192.168.0.1", "private address"],
  ["http://100.64.0.1", "private address"],
  ["http://2130706433:PORT", "not written plainly"],
  ["http://0x7f000001:PORT", "not written plainly"],
  ["http://0x7f.1:PORT", "not written plainly"],
  ["http://0177.0.0.1:PORT", "not written plainly"],
  ["http://017700000001:PORT", "not written plainly"],
  ["http://127.1:PORT", "not written plainly"],
  ["http://0:PORT", "not written plainly"],
  ["http://%31%32%37.0.0.1:PORT", "not written plainly"],
  ["http://[::1]:PORT", "private address"],
  ["http://[::]:PORT", "private address"],
  ["http://[::ffff:127.0.0.1]:PORT", "private address"],
  ["http://[::ffff:7f00:1]:PORT", "private address"],
  ["http://[0:0:0:0:0:ffff:127.0.0.1]:PORT", "private address"],
  ["http://[64:ff9b::7f00:1]:PORT", "private address"],
  ["http://[2002:7f00:1::]:PORT", "private address"],
  ["http://[fd00::1]", "private address"],
  ["http://[fe80::1]", "private address"],
  ["http://169.254.169.254/latest/meta-data", "metadata"],
  ["http://[::ffff:169.254.169.254]", "metadata"],
  ["http://[fd00:ec2::254]", "metadata"],
  ["http://metadata.google.internal", "metadata"],
  ["http://100.100.100.200", "metadata"],
  ["http://localhost:PORT", "private name"],
  ["http://LOCALHOST:PORT", "private name"],
  ["http://any.localhost:PORT", "private name"],
  ["http://service.internal", "private name"],
  ["http://printer.local", "private name"],
  ["http://localhost.:PORT", "ends with a dot"],
  ["http://good@127.0.0.1:PORT/", "contains @"],
  ["http://api.openai.com@127.0.0.1:PORT/v1", "contains @"],
  ["http://x#@127.0.0.1:PORT", "contains @"],
  ["http://api.openai.com#.127.0.0.1:PORT", "fragment"],
  ["http://127.0.0.1:PORT\\@api.openai.com", "one of"],
  ["http://api.openai.com:0", "port"],
  ["http://api.openai.com:99999", "not a URL"],
  ["https:127.0.0.1:PORT", "does not start with"],
  ["//127.0.0.1:PORT", "does not start with"],
  ["127.0.0.1:PORT", "does not start with"],
  ["file:///etc/passwd", "does not start with"],
  ["gopher://127.0.0.1:PORT/_x", "does not start with"],
  ["ftp://127.0.0.1:PORT", "does not start with"],
  ["unix:/var/run/docker.sock", "does not start with"],
  ["javascript:alert(1)", "does not start with"],
  [`http://api.openai.com/${"x".repeat(2_048)}`, "longer than 2048"],
];

describe.each(gatewayModes)("addresses that users name, %s", (mode) => {
  const stage = useStage(mode, {
    env: AS_A_SERVER,
    config: ({ origin }) => ({
      version: 1,
      providers: [
        { slug: "inside", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/v1` },
        { slug: "open", provider: "openai", api_key: "sk-saved", custom_host: "https://api.openai.com/v1", allow_custom_host: true },
        { slug: "shut", provider: "openai", api_key: "sk-saved", custom_host: "https://api.openai.com/v1" },
      ],
    }),
  });
  beforeEach(() => stage.upstream.always(chatReply("reached")));

  const at = (host: string): string => host.replaceAll("PORT", new URL(stage.upstream.origin).port);

  async function expectRefused(answer: Answer, why: string): Promise<void> {
    const error = expectError(answer, 400, "invalid_custom_host");
    expect(error["message"]).toContain(why);
    expect(stage.upstream.requests).toEqual([]);
  }

  test.each(REFUSED)("%s is refused: %s", async (host, why) => {
    const answer = await chat(stage.gateway, stage.key, toUpstream("", { "x-gateway-custom-host": at(host) }));
    await expectRefused(answer, why);
    expectSameInEveryMode(host, answer.error()["code"]);
  });

  test("names are refused for where they lead", async () => {
    const candidates = ["ip6-localhost", "ip6-loopback", hostname()];
    const inside: string[] = [];
    for (const name of candidates) {
      const found = await lookup(name, { all: true }).catch(() => []);
      if (/^[a-z0-9.-]+$/.test(name) && found.some(({ address }) => /^(127\.|10\.|192\.168\.|172\.|::1$|f[cde])/.test(address)))
        inside.push(name);
    }
    for (const name of inside) {
      const answer = await chat(stage.gateway, stage.key, toUpstream("", { "x-gateway-custom-host": at(`http://${name}:PORT/v1`) }));
      await expectRefused(answer, "not allowed");
    }
    expect((await lookup("localhost")).address).toMatch(/^(127\.|::1$)/);
  });

  const inline = (over: object): Record<string, string> => withConfig(target(stage.upstream.origin, over));
  test.each<[string, () => Promise<Answer>]>([
    ["a stream", () => chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin), { stream: true })],
    ["an inline config", () => chat(stage.gateway, stage.key, inline({}))],
    ["a saved provider", () => chat(stage.gateway, stage.key, { "x-gateway-provider": "@inside" })],
    [
      "a saved provider that allows a custom host",
      () => chat(stage.gateway, stage.key, { "x-gateway-provider": "@open", "x-gateway-custom-host": stage.upstream.origin }),
    ],
    [
      "a keyless provider",
      () => chat(stage.gateway, stage.key, { "x-gateway-provider": "ollama", "x-gateway-custom-host": stage.upstream.origin }),
    ],
    ["a keyless provider's own address", () => chat(stage.gateway, stage.key, { "x-gateway-provider": "ollama" })],
    [
      "the old spelling of the header",
      () =>
        chat(stage.gateway, stage.key, {
          "x-gateway-provider": "openai",
          authorization: "Bearer sk",
          "x-portkey-custom-host": stage.upstream.origin,
        }),
    ],
  ])("hold for %s", async (_, asked) => {
    await expectRefused(await asked(), "The custom host is not allowed");
  });

  test.each(["/v1/embeddings", "/v1/proxy/v1/files", "/v1/files"])("hold for proxied requests: %s", async (path) => {
    const headers = { "x-gateway-api-key": stage.key, ...toUpstream(stage.upstream.origin) };
    for (const type of ["application/json", "application/octet-stream"]) {
      const answer = await send(stage.gateway, path, { headers: { ...headers, "content-type": type }, body: JSON.stringify(QUESTION) });
      expect([answer.status, answer.error()["code"]]).toEqual([400, "invalid_custom_host"]);
    }
    expect(stage.upstream.requests).toEqual([]);
  });

  test("a host of the caller's own never gets a saved credential", async () => {
    const answer = await chat(stage.gateway, stage.key, {
      "x-gateway-provider": "@shut",
      "x-gateway-custom-host": "https://example.com/v1",
    });
    await expectRefused(answer, "saved credential");
    const config = withConfig({ provider: "@shut", custom_host: "https://example.com/v1" });
    await expectRefused(await chat(stage.gateway, stage.key, config), "saved credential");
  });

  test("a refusal is logged, and a fallback goes on", async () => {
    const config = { strategy: { mode: "fallback" }, targets: [target(stage.upstream.origin), { provider: "mock" }] };
    const answer = await chat(stage.gateway, stage.key, withConfig(config));
    expect([answer.status, answer.headers["x-gateway-provider"]]).toEqual([200, "mock"]);
    const [refused, done] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 2);
    expect(refused).toMatchObject({ outcome: "failed", status: 400, error: { code: "invalid_custom_host", blame: "client" } });
    expect(done).toMatchObject({ outcome: "success" });
    expect(stage.upstream.requests).toEqual([]);
  });
});

describe.each(gatewayModes)("addresses that an administrator allows, %s", (mode) => {
  const stage = useStage(mode, { env: { ...AS_A_SERVER, UNIGATE_EGRESS_ALLOW: "localhost, 10.9.0.0/16" } });
  let elsewhere: Upstream;
  beforeAll(async () => {
    elsewhere = await startUpstream();
  });
  afterAll(() => elsewhere.close());
  beforeEach(() => {
    elsewhere.reset();
    elsewhere.always(chatReply("followed"));
  });
  const allowed = (path = "/v1"): Record<string, string> =>
    toUpstream("", { "x-gateway-custom-host": `http://localhost:${new URL(stage.upstream.origin).port}${path}` });

  test("are reached, and only by the name that was allowed", async () => {
    stage.upstream.script(chatReply("reached"));
    expect((await chat(stage.gateway, stage.key, allowed())).text).toContain("reached");
    for (const host of [stage.upstream.origin, "http://[::1]", "http://any.localhost", "http://10.8.255.255", "http://169.254.169.254"])
      expectError(await chat(stage.gateway, stage.key, toUpstream("", { "x-gateway-custom-host": host })), 400, "invalid_custom_host");
    expect(stage.upstream.requests.length).toBe(1);
  });

  test.each([301, 302, 307, 308])("do not lead further: a redirect with %i to loopback is not followed", async (status) => {
    const headers = { location: `${elsewhere.origin}/latest/meta-data` };
    stage.upstream.always(reply({ status, headers }));
    for (const path of ["/v1/chat/completions", "/v1/embeddings"])
      await send(stage.gateway, path, { headers: { "x-gateway-api-key": stage.key, ...allowed() }, body: QUESTION });
    await chat(stage.gateway, stage.key, allowed(), { stream: true });
    expect(stage.upstream.requests.length).toBe(3);
    expect(elsewhere.requests).toEqual([]);
  });

  test("do not lead further: whatever else the answer names", async () => {
    const lure = `${elsewhere.origin}/`;
    const headers = {
      "content-location": lure,
      refresh: `0;url=${lure}`,
      link: `<${lure}>; rel=preload`,
      "alt-svc": `h2="${new URL(lure).host}"`,
    };
    stage.upstream.script(jsonReply({ error: { message: lure } }, { status: 401, headers }), chatReply("as before"));
    expect((await chat(stage.gateway, stage.key, allowed())).status).toBe(401);
    expect((await chat(stage.gateway, stage.key, allowed())).text).toContain("as before");
    expect(elsewhere.requests).toEqual([]);
  });
});
