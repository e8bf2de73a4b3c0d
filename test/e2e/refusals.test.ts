import { chatReply, errorReply, gatewayModes, reply, until } from "@unigate/testkit";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { Canaries } from "./canaries.ts";
import { expectError } from "./envelope.ts";
import { chat, openConnection, QUESTION, requestHead, send, toUpstream } from "./http.ts";
import { logOf, logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey } from "./stage.ts";

describe.each(gatewayModes)("refusals, %s", (mode) => {
  const canaries = new Canaries();
  const saved = canaries.make("saved");
  const fewModels = declaredKey("few models", { allowed_models: ["gpt-test"] });
  const stage = useSharedStage(mode, ({ origin }) => ({
    keys: [fewModels],
    providers: [{ slug: "told", provider: "openai", api_key: saved, custom_host: `${origin}/v1` }],
  }));
  const here = (more: Record<string, string> = {}): Record<string, string> => ({
    "x-gateway-api-key": stage.key,
    ...toUpstream(stage.upstream.origin),
    ...more,
  });

  test.each([
    ["an error", {}, (key: string) => errorReply(401, `Incorrect API key provided: ${key}`)],
    ["an error before a stream", { stream: true }, (key: string) => errorReply(401, `Incorrect API key provided: ${key}`)],
    ["a page", {}, (key: string) => reply({ status: 502, pieces: [`<html>${key}</html>`] })],
  ])("a saved credential that the provider repeats in %s is in no answer and no log", async (_, body, echo) => {
    stage.upstream.always(({ headers }) => echo(String(headers["authorization"]).slice(7)));
    const answer = await chat(stage.gateway, stage.key, { "x-gateway-provider": "@told" }, body);
    expect(canaries.foundIn(answer.text)).toEqual([]);
    const [record] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1);
    expect(canaries.foundIn(JSON.stringify(await logOf(stage.gateway, stage.key, String(record?.["id"]))))).toEqual([]);
  });

  test("an error of a proxied provider that announces its length has one content-length", async () => {
    const text = JSON.stringify({ error: { message: "no" } });
    stage.upstream.script(
      reply({ status: 400, headers: { "content-type": "application/json", "content-length": String(text.length) }, pieces: [text] }),
    );
    const { statusCode, headers, body } = await request(`${stage.gateway.origin}/v1/embeddings`, {
      method: "POST",
      headers: here({ "content-type": "application/json" }),
      body: "{}",
    });
    expect([statusCode, await body.text(), headers["content-length"]]).toEqual([400, text, String(text.length)]);
  });
  test.each(["/v1/files/../x", "/v1/embeddings"])("a proxied request that the gateway refuses is answered as JSON: %s", async (path) => {
    const headers = here(path === "/v1/embeddings" ? { "x-gateway-custom-host": "http://169.254.169.254" } : {});
    const connection = openConnection(stage.gateway);
    connection.write(requestHead(`GET ${path}`, headers));
    await until("an answer", () => connection.received().includes("}"));
    expect(connection.received()).toMatch(/^content-type: application\/json\r?$/im);
    connection.leave();
  });
  test.each([300, 301, 302, 303, 304, 307, 308])(
    "a redirect with %i is no answer to a chat: 502, and its location stays here",
    async (status) => {
      for (const body of [{}, { stream: true }]) {
        stage.upstream.script(reply({ status, headers: { location: "http://169.254.169.254/" } }));
        const answer = await chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin), body);
        expectError(answer, 502, "upstream_invalid");
        expect(answer.headers["location"]).toBeUndefined();
      }
    },
  );
  test.each([
    ["no host", () => "GET /v1/models HTTP/1.1\r\n\r\n", 400],
    [
      "an expectation that nobody knows",
      () => requestHead("POST /v1/chat/completions", here({ expect: "weird", "content-length": "2" })) + "{}",
      417,
    ],
    ["CONNECT", () => "CONNECT 169.254.169.254:80 HTTP/1.1\r\nhost: a\r\n\r\n", 405],
  ])("%s is refused as JSON", async (_, bytes, status) => {
    const connection = openConnection(stage.gateway);
    connection.write(bytes());
    await until("an answer", () => connection.closed || /\r\n\r\n[\s\S]+/.test(connection.received()));
    expect(connection.received()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\s\\S]*content-type: application/json[\\s\\S]*"error"`, "i"));
    connection.leave();
  });
  test("a timeout header that is no number is refused, not ignored", async () => {
    const answer = await chat(stage.gateway, stage.key, { "x-gateway-provider": "mock", "x-gateway-request-timeout": "abc" });
    expectError(answer, 400, "invalid_header");
  });
  test("a key that may use some models does not send the bytes of a body that names two", async () => {
    const twice = `{"model":"other","messages":[{"role":"user","content":"Hello"}],"model":"gpt-test"}`;
    stage.upstream.script(chatReply("ok"));
    const headers = { ...here(), "x-gateway-api-key": fewModels.key, "content-type": "application/json" };
    expect((await send(stage.gateway, "/v1/chat/completions", { body: twice, headers })).status).toBe(200);
    expect((await stage.upstream.request(0)).body.toString()).not.toContain("other");
  });
  test("a gzip'd body is refused by its content-encoding, not as broken JSON", async () => {
    const answer = await send(stage.gateway, "/v1/chat/completions", {
      body: JSON.stringify(QUESTION),
      headers: here({ "content-type": "application/json", "content-encoding": "gzip" }),
    });
    expect(answer.error()["param"]).toBe("content-encoding");
  });
});
