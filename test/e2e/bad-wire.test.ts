import { type AddressInfo, createServer } from "node:net";
import { chatReply, cutReply, gatewayModes, jsonReply, type Reply, rawReply, reply, until } from "@unigate/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { expectError } from "./envelope.ts";
import { answerOf, chat, openConnection, QUESTION, requestHead, send, target, toUpstream, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { expectSameInEveryMode } from "./stage.ts";

const BODY = JSON.stringify(QUESTION);

/** A port of loopback where nobody listens. */
async function deadPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe.each(gatewayModes)("what is no HTTP, %s", (mode) => {
  const stage = useSharedStage(mode);
  afterEach(async () => {
    stage.upstream.reset();
    stage.upstream.script(chatReply("still here"));
    const answer = await chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin));
    expect(answer.text).toContain("still here");
  });

  /** What comes back for bytes that no client library would send, until the gateway closes or answers. */
  async function write(
    bytes: string | Uint8Array,
  ): Promise<{ status: number; headers: Record<string, string>; text: string; received: string }> {
    const connection = openConnection(stage.gateway);
    connection.write(bytes);
    await until("an answer", () => /\r\n\r\n[\s\S]*\}\s*$/.test(connection.received()) || connection.closed);
    const received = connection.received();
    connection.leave();
    const [head = "", text = ""] = received.split("\r\n\r\n");
    const [line = "", ...rest] = head.split("\r\n");
    const headers = Object.fromEntries(rest.map((one) => [one.slice(0, one.indexOf(":")).toLowerCase(), one.slice(one.indexOf(":") + 2)]));
    return { status: Number(line.split(" ")[1]), headers, text, received };
  }

  describe("from a client", () => {
    const post = (headers: Record<string, string>): string =>
      requestHead("POST /v1/chat/completions", {
        "x-gateway-api-key": stage.key,
        ...toUpstream(stage.upstream.origin),
        "content-type": "application/json",
        ...headers,
      });
    const chunk = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
    const lengths = `content-length: ${BODY.length}\r\ncontent-length: 0\r\n\r\n`;
    const smuggled = requestHead("GET /v1/models", {});

    test.each<[string, () => string]>([
      ["two lengths", () => post({}).slice(0, -2) + lengths + BODY],
      ["a list of lengths", () => post({ "content-length": `${BODY.length}, ${BODY.length}` }) + BODY],
      ["a length beside chunks", () => post({ "content-length": "4", "transfer-encoding": "chunked" }) + chunk + smuggled],
      ["chunks beside a length", () => post({ "transfer-encoding": "chunked", "content-length": String(BODY.length) }) + BODY],
      ["an unknown coding", () => post({ "transfer-encoding": "xchunked" }) + chunk],
      ["a coding after chunked", () => post({ "transfer-encoding": "chunked, identity" }) + chunk],
      ["a chunk size that is none", () => `${post({ "transfer-encoding": "chunked" })}zz\r\n${BODY}\r\n0\r\n\r\n`],
      ["a chunk size with a sign", () => `${post({ "transfer-encoding": "chunked" })}+5\r\n${BODY}\r\n0\r\n\r\n`],
      ["a negative length", () => post({ "content-length": "-1" }) + BODY],
      ["a length with a sign", () => post({ "content-length": "+5" }) + BODY],
      ["a hexadecimal length", () => post({ "content-length": "0x10" }) + BODY],
      ["a length past all numbers", () => post({ "content-length": "9".repeat(30) }) + BODY],
      ["a folded header", () => `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-a: 1\r\n folded\r\n\r\n`],
      ["a space before the colon", () => `POST /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length : 5\r\n\r\nhello`],
      ["a header without a colon", () => "GET /v1/models HTTP/1.1\r\nhost: x\r\nnonsense\r\n\r\n"],
      ["a NUL in a header", () => "GET /v1/models HTTP/1.1\r\nhost: x\r\nx-a: a\0b\r\n\r\n"],
      ["a bare CR in a header", () => "GET /v1/models HTTP/1.1\r\nhost: x\r\nx-a: a\rx-b: c\r\n\r\n"],
      ["bare LF at line ends", () => "GET /v1/models HTTP/1.1\nhost: x\n\n"],
      ["a space in the path", () => "GET /v1/mo dels HTTP/1.1\r\nhost: x\r\n\r\n"],
      ["letters beyond ASCII in the path", () => "GET /v1/mödels HTTP/1.1\r\nhost: x\r\n\r\n"],
      ["an unknown version", () => "GET /v1/models HTTP/3.0\r\nhost: x\r\n\r\n"],
      ["HTTP/2", () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
      ["an unknown method", () => "FROB /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"],
      ["TLS", () => "\u0016\u0003\u0001\u0002\0\u0001\0\u0001\r\n\r\n"],
    ])("%s: 400 as JSON, the connection ends, nothing goes on", async (name, bytes) => {
      const answer = await write(bytes());
      const error = expectError(answer, 400, "invalid_request");
      expect(answer.headers["connection"]).toBe("close");
      expect(answer.received.match(/HTTP\/1\.1/g)).toEqual(["HTTP/1.1", "HTTP/1.1"].slice(0, answer.text.includes("HTTP/1.1") ? 2 : 1));
      expect(stage.upstream.requests).toEqual([]);
      expectSameInEveryMode(name, error);
    });

    test("a half request is waited for, and does no harm", async () => {
      const connection = openConnection(stage.gateway);
      connection.write("POST /v1/chat/comp");
      expect((await send(stage.gateway, "/healthz")).status).toBe(200);
      connection.write("letions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}");
      await until("the answer to the rest", () => connection.received().startsWith("HTTP/1.1 401"));
      connection.leave();
    });

    test("requests one behind the other are answered in order", async () => {
      const connection = openConnection(stage.gateway);
      connection.write(["/healthz", "/nothing", "/readyz"].map((path) => requestHead(`GET ${path}`, {})).join(""));
      await until("all answers", () => connection.received().includes('"ready"'));
      expect(connection.received()).toMatch(/200 OK[\s\S]*"ok"[\s\S]*404 Not Found[\s\S]*200 OK[\s\S]*"ready"/);
      connection.leave();
    });

    test.each([
      ["GET /v1/models/%zz", 400, "invalid_request"],
      ["GET /v1/logs/%E0%A4%A", 400, "invalid_request"],
      ["GET /v1/../../etc/passwd", 400, "invalid_request"],
      ["GET /v1/files/%2e%2e/secret", 400, "invalid_request"],
      ["GET /v1/proxy/../admin", 400, "invalid_request"],
      ["GET /v1/files/a\\..\\b", 400, "invalid_request"],
      ["GET /v1/files/a#b", 400, "invalid_request"],
      ["GET /%zz", 404, "not_found"],
      ["GET /../v1/models", 404, "not_found"],
      ["GET http://169.254.169.254/v1/models", 404, "not_found"],
      ["GET //169.254.169.254/v1/models", 404, "not_found"],
      ["OPTIONS *", 404, "not_found"],
      ["TRACE /v1/models", 405, "method_not_allowed"],
      ["PATCH /v1/chat/completions", 405, "method_not_allowed"],
      ["PROPFIND /v1/chat/completions", 405, "method_not_allowed"],
    ])("%s is %i", async (line, status, code) => {
      const answer = await write(requestHead(line, { "x-gateway-api-key": stage.key, ...toUpstream(stage.upstream.origin) }));
      expect([answer.status, answerOf(answer.status, answer.headers, Buffer.from(answer.text)).error()["code"]]).toEqual([status, code]);
      expect(stage.upstream.requests).toEqual([]);
    });

    test.each([
      "/v1/logs?limit=abc",
      "/v1/logs?limit=0",
      "/v1/logs?limit=101",
      "/v1/logs?limit=-1",
      "/v1/logs?cursor=nonsense",
      "/v1/logs?from=x",
      "/v1/logs?status=abc",
    ])("GET %s is 400 and names the parameter", async (path) => {
      const answer = await send(stage.gateway, path, { headers: { "x-gateway-api-key": stage.key } });
      const error = expectError(answer, 400, "invalid_request");
      expect(error["param"]).toBe(/\?(\w+)=/.exec(path)?.[1]);
    });
  });

  describe("from an upstream", () => {
    const json = { "content-type": "application/json" };
    const unreadable: [string, Reply, string][] = [
      ["no HTTP", rawReply("\u0016\u0003\u0001 garbage\r\n\r\n"), "upstream_invalid"],
      ["a head without end", rawReply(`HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(400_000)}\r\n\r\n`), "upstream_invalid"],
      ["a page", reply({ headers: { "content-type": "text/html" }, pieces: ["<html>sign in</html>"] }), "upstream_invalid"],
      ["nothing", reply({}), "upstream_invalid"],
      ["no content", reply({ status: 204 }), "upstream_invalid"],
      ["a list", jsonReply([]), "upstream_invalid"],
      ["null", jsonReply(null), "upstream_invalid"],
      ["an object of another kind", jsonReply({ hello: 1 }), "upstream_invalid"],
      ["choices that are none", jsonReply({ choices: "x" }), "upstream_invalid"],
      ["half of its JSON", reply({ headers: json, pieces: ['{"choices":['] }), "upstream_invalid"],
      [
        "compressed though not asked to",
        reply({ headers: { ...json, "content-encoding": "gzip" }, pieces: ["\u001f\u008b garbage"] }),
        "upstream_invalid",
      ],
      ["an error with a good status", jsonReply({ error: { message: "boo" } }), "upstream_invalid"],
      [
        "lists 20,000 deep",
        reply({ headers: json, pieces: [`{"choices":${"[".repeat(20_000)}${"]".repeat(20_000)}}`] }),
        "upstream_invalid",
      ],
      ["a reset", cutReply(), "upstream_unreachable"],
      [
        "a body that is cut",
        reply({ headers: { ...json, "content-length": "1000" }, pieces: ['{"id":'], ending: "cut" }),
        "upstream_unreachable",
      ],
      ["chunks that are cut", reply({ headers: json, pieces: ['{"id":'], ending: "cut" }), "upstream_unreachable"],
    ];

    test.each(unreadable)("%s is 502, logged as failed, and a reason for fallback", async (name, script, code) => {
      stage.upstream.script(script);
      const answer = await chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin));
      const error = expectError(answer, 502, code);
      expect(answer.json()["provider"]).toBe("openai");
      const [record] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1);
      expect(record).toMatchObject({ outcome: "failed", status: 502, error: { code, message: error["message"] } });
      expectSameInEveryMode(name, error);

      stage.upstream.script(script, chatReply("second"));
      const here = target(stage.upstream.origin);
      const next = await chat(stage.gateway, stage.key, withConfig({ strategy: { mode: "fallback" }, targets: [here, here] }));
      expect([next.status, next.headers["x-gateway-last-used-option-index"]]).toEqual([200, "config.targets[1]"]);
    });

    test.each([
      ["a closed port", (port: number) => `http://127.0.0.1:${port}/v1`],
      ["a name that nobody has", (port: number) => `http://nothing-here.localhost:${port}/v1`],
    ])("%s is 502, for a stream too, and is logged as failed", async (_, host) => {
      const headers = toUpstream("", { "x-gateway-custom-host": host(await deadPort()) });
      for (const body of [{}, { stream: true }]) {
        const answer = await chat(stage.gateway, stage.key, headers, body);
        const error = expectError(answer, 502, "upstream_unreachable");
        expect(error["message"]).toBe("The provider could not be reached.");
        const [record] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1);
        expect(record).toMatchObject({ outcome: "failed", status: 502, error: { code: "upstream_unreachable", blame: "network" } });
      }
    });

    test.each([
      ["a page", reply({ status: 503, headers: { "content-type": "text/html" }, pieces: ["<h1>down</h1>"] }), 503, "<h1>down</h1>"],
      ["nothing", reply({ status: 500 }), 500, "(empty)"],
      ["a word", jsonReply({ error: "plain" }, { status: 400 }), 400, "plain"],
      ["null", jsonReply({ error: null }, { status: 422 }), 422, "null"],
      [
        "objects 3,000 deep",
        reply({ status: 400, headers: json, pieces: [`${'{"error":'.repeat(3_000)}1${"}".repeat(3_000)}`] }),
        400,
        "Invalid response",
      ],
    ])("an error whose body is %s keeps its status and says what came", async (_, script, status, text) => {
      for (const body of [{}, { stream: true }]) {
        stage.upstream.script(script);
        const answer = await chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin), body);
        expect(expectError(answer, status, null)["message"]).toContain(text);
        expect(answer.text.length).toBeLessThan(1_000);
      }
    });

    test.each([301, 302, 303, 307, 308])("a redirect with %i is not followed", async (status) => {
      const location = `${stage.upstream.origin}/moved`;
      for (const path of ["/v1/chat/completions", "/v1/embeddings", "/v1/proxy/v1/files"]) {
        stage.upstream.reset();
        stage.upstream.script(reply({ status, headers: { location } }), chatReply("the other place"));
        const headers = { "x-gateway-api-key": stage.key, ...toUpstream(stage.upstream.origin) };
        const answer = await send(stage.gateway, path, { headers, body: QUESTION });
        expect(answer.text).not.toContain("the other place");
        expect(stage.upstream.requests.map(({ url }) => url)).not.toContain("/moved");
      }
    });
  });
});
