import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import { chatReply, errorReply, gatewayModes, jsonReply, reply, sseReply, until } from "@unigate/testkit";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { answerOf, chat, openConnection, requestHead, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";
import { expectSameInEveryMode } from "./stage.ts";

const MIB = 1024 * 1024;

describe.each(gatewayModes)("proxy and other paths, %s", (mode) => {
  const stage = useSharedStage(mode, ({ origin }) => ({
    providers: [
      { slug: "saved", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/v1` },
      { slug: "claude", provider: "anthropic", api_key: "sk-claude", custom_host: `${origin}/v1` },
    ],
  }));
  const headers = (more: Record<string, string> = {}): Record<string, string> => ({
    "x-gateway-api-key": stage.key,
    "x-gateway-provider": "@saved",
    ...more,
  });

  describe("proxied requests", () => {
    test.each(["GET", "POST", "PUT", "DELETE"] as const)("%s, with its query, goes to the provider", async (method) => {
      stage.upstream.script(jsonReply({ done: method }, { status: 201, headers: { "x-up": "1", "openai-version": "2020" } }));
      const body = method === "POST" || method === "PUT" ? { body: { a: [1, " b "] } } : {};
      const answer = await send(stage.gateway, "/v1/vector_stores/vs_1?limit=2&after=a%20b&x=%2F", { method, headers: headers(), ...body });
      expect([answer.status, answer.text]).toEqual([201, JSON.stringify({ done: method })]);
      expect(answer.headers).toMatchObject({ "x-up": "1", "openai-version": "2020", "x-gateway-provider": "openai" });
      const sent = stage.upstream.requests[0];
      expect(sent).toMatchObject({ method, url: "/v1/vector_stores/vs_1?limit=2&after=a%20b&x=%2F" });
      expect(String(sent?.body)).toBe(body.body === undefined ? "" : JSON.stringify(body.body));
      expect(sent?.headers["authorization"]).toBe("Bearer sk-saved");
    });

    test("the provider decides how its credential is sent", async () => {
      stage.upstream.script(jsonReply({}));
      await send(stage.gateway, "/v1/messages/batches", { headers: headers({ "x-gateway-provider": "@claude" }) });
      expect(stage.upstream.requests[0]).toMatchObject({ url: "/v1/messages/batches", headers: { "x-api-key": "sk-claude" } });
    });

    test("bytes, status and content-encoding come as they were sent", async () => {
      const packed = gzipSync("twice packed, never unpacked ".repeat(50));
      stage.upstream.script(
        reply({ status: 206, headers: { "content-encoding": "gzip", "content-type": "text/odd", etag: '"e"' }, pieces: [packed] }),
      );
      const answer = await send(stage.gateway, "/v1/files/file-1/content", { headers: headers({ "accept-encoding": "gzip, br" }) });
      expect(answer.status).toBe(206);
      expect(answer.headers).toMatchObject({ "content-encoding": "gzip", "content-type": "text/odd", etag: '"e"' });
      expect(answer.bytes).toEqual(packed);
      expect(gunzipSync(answer.bytes).length).toBeGreaterThan(1_000);
      expect(stage.upstream.requests[0]?.headers["accept-encoding"]).toBe("gzip, br");
    });

    test("a header that comes twice stays twice; hop-by-hop ones go", async () => {
      stage.upstream.script(
        jsonReply(
          {},
          { headers: { "x-twice": ["1", "2"], "set-cookie": ["a=1", "b=2"], "keep-alive": "timeout=9", "x-gateway-provider": "fake" } },
        ),
      );
      const answer = await send(stage.gateway, "/v1/anything", { headers: headers() });
      expect(answer.headers["x-twice"]).toEqual(["1", "2"]);
      expect(answer.headers["x-gateway-provider"]).toBe("openai");
      expect(String(answer.headers["keep-alive"] ?? "")).not.toContain("timeout=9");
    });

    test.each([204, 304, 301, 404, 429, 503])("status %i comes back with what is in it", async (status) => {
      const withBody = status !== 204 && status !== 304;
      stage.upstream.script(reply({ status, headers: { location: "http://127.0.0.1:1/x" }, pieces: withBody ? ["as it is"] : [] }));
      const answer = await send(stage.gateway, "/v1/anything", { headers: headers() });
      expect([answer.status, answer.text]).toEqual([status, withBody ? "as it is" : ""]);
      expect(answer.headers["location"]).toBe("http://127.0.0.1:1/x");
      expect(stage.upstream.requests.length).toBe(1);
    });

    test("a stream passes event by event, untouched", async () => {
      const wire = 'event: odd\ndata:{"no":"space"}\nid: 7\nretry: 10\n\n: comment\n\ndata: [DONE]\n\n';
      stage.upstream.script(sseReply([wire]));
      const answer = await send(stage.gateway, "/v1/responses", { headers: headers(), body: { stream: true, input: "x" } });
      expect([answer.text, answer.headers["content-type"]]).toEqual([wire, "text/event-stream"]);
    });

    test("a broken answer breaks off, it does not end", async () => {
      stage.upstream.script(reply({ headers: { "content-type": "text/plain" }, pieces: ["half"], ending: "cut" }));
      await expect(send(stage.gateway, "/v1/anything", { headers: headers() })).rejects.toThrow();
    });

    test("a JSON body is retried and falls back, byte for byte", async () => {
      stage.upstream.script(errorReply(429, "again", { "retry-after-ms": "1" }), errorReply(500, "next"), jsonReply({ ok: 1 }));
      const { origin } = stage.upstream;
      const config = {
        strategy: { mode: "fallback" },
        retry: { attempts: 1, on_status_codes: [429], use_retry_after_headers: true },
        targets: [target(origin), target(origin)],
      };
      const body = '{"input":  "x", "n": 1.0}';
      const answer = await send(stage.gateway, "/v1/embeddings", {
        headers: { "x-gateway-api-key": stage.key, ...withConfig(config), "content-type": "application/json" },
        body,
      });
      expect([answer.status, answer.headers["x-gateway-last-used-option-index"]]).toEqual([200, "config.targets[1]"]);
      expect(stage.upstream.requests.map((sent) => String(sent.body))).toEqual([body, body, body]);
    });

    test("override_params holds for proxied JSON too", async () => {
      stage.upstream.script(jsonReply({}));
      const config = withConfig({ provider: "@saved", override_params: { dimensions: 8 } });
      await send(stage.gateway, "/v1/embeddings", { headers: { "x-gateway-api-key": stage.key, ...config }, body: { input: "x" } });
      expect(JSON.parse(String(stage.upstream.requests[0]?.body))).toEqual({ input: "x", dimensions: 8 });
    });

    test("/v1/proxy/<path> proxies any path, also one that is the gateway's own", async () => {
      stage.upstream.always(jsonReply({ from: "upstream" }));
      for (const path of ["/v1/proxy/models", "/v1/proxy/configs", "/v1/proxy/chat/completions", "/v1/proxy/deep/er?x=1"]) {
        const answer = await send(stage.gateway, path, { headers: headers() });
        expect([answer.status, answer.text], path).toEqual([200, '{"from":"upstream"}']);
      }
      expect(stage.upstream.requests.map(({ url }) => url)).toEqual([
        "/v1/models",
        "/v1/configs",
        "/v1/chat/completions",
        "/v1/deep/er?x=1",
      ]);
    });

    test.each(["/v1/a/../b", "/v1/a/%2e%2e/b", "/v1/proxy/../../x", "/v1/a/./b"])(
      "a path that would leave its base is 400: %s",
      async (path) => {
        const connection = openConnection(stage.gateway);
        connection.write(requestHead(`GET ${path}`, headers()));
        await until("the answer", () => connection.received().includes("\r\n\r\n"));
        expect(connection.received()).toMatch(/^HTTP\/1.1 400 /);
        expect(stage.upstream.requests).toEqual([]);
        connection.leave();
      },
    );

    test("is logged", async () => {
      stage.upstream.script(jsonReply({ secret: "answer" }));
      const answer = await send(stage.gateway, "/v1/embeddings", { headers: headers(), body: { input: "x" } });
      const [record] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1);
      expect(record).toMatchObject({
        surface: "proxy",
        method: "POST",
        path: "/embeddings",
        status: 200,
        outcome: "success",
        provider: "openai",
      });
    });

    test("the SDK's other endpoints work through it", async () => {
      stage.upstream.script(
        jsonReply({ object: "list", data: [{ object: "embedding", index: 0, embedding: [0.25] }], model: "e", usage: {} }),
      );
      const sdk = openAi(stage.gateway, stage.key, { "x-gateway-provider": "@saved" });
      const found = await sdk.embeddings.create({ model: "e", input: "x", encoding_format: "float" });
      expect(found.data[0]?.embedding).toEqual([0.25]);
    });
  });

  describe("uploads", () => {
    /** 20 MB that differ everywhere, made as they are read. */
    function* pieces(count: number): Generator<Buffer> {
      for (let index = 0; index < count; index++) yield Buffer.alloc(MIB, index + 1);
    }

    test("a multipart body of 60 MB is streamed through", async () => {
      const [head, tail] = ['--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n', "\r\n--b--\r\n"];
      const hash = createHash("sha256").update(head);
      for (const piece of pieces(60)) hash.update(piece);
      const digest = hash.update(tail).digest("hex");
      stage.upstream.script((received) => jsonReply({ digest: createHash("sha256").update(received.body).digest("hex") }));
      const idle = resident(stage.gateway.pid("edge"));
      let most = 0;
      const watch = setInterval(() => {
        most = Math.max(most, resident(stage.gateway.pid("edge")));
      }, 5);
      const body = Readable.from(
        (function* () {
          yield Buffer.from(head);
          yield* pieces(60);
          yield Buffer.from(tail);
        })(),
      );
      const type = "multipart/form-data; boundary=b";
      const answer = await request(`${stage.gateway.origin}/v1/files`, {
        method: "POST",
        headers: headers({ "content-type": type }),
        body,
      });
      clearInterval(watch);
      const { digest: received } = (await answer.body.json()) as { digest: string };
      expect([answer.statusCode, received]).toEqual([200, digest]);
      expect(stage.upstream.requests[0]).toMatchObject({ method: "POST", url: "/v1/files", headers: { "content-type": type } });
      expect(most - idle).toBeLessThan(90 * MIB);
    });

    test("the SDK uploads a file", async () => {
      stage.upstream.script(jsonReply({ id: "file-1", object: "file" }));
      const sdk = openAi(stage.gateway, stage.key, { "x-gateway-provider": "@saved" });
      const file = new File(["a line\n"], "lines.jsonl");
      expect((await sdk.files.create({ file, purpose: "batch" })).id).toBe("file-1");
      expect(String(stage.upstream.requests[0]?.body)).toContain("a line\n");
    });

    test("one that the client cuts closes the upstream's connection and is no whole body there", async () => {
      const connection = openConnection(stage.gateway);
      const type = { "content-type": "application/octet-stream", "content-length": String(8 * MIB) };
      connection.write(requestHead("POST /v1/files", headers(type)));
      connection.write(Buffer.alloc(MIB));
      const sent = await stage.upstream.request(0);
      await until("some of it to arrive", () => sent.bodyBytes > 0);
      connection.leave();
      await stage.upstream.closed(0);
      expect(sent.complete).toBe(false);
    });

    test("an upstream that refuses before the end of the body is heard", async () => {
      stage.upstream.script(errorReply(413, "too much for me"));
      const answer = await send(stage.gateway, "/v1/files", {
        headers: headers({ "content-type": "application/octet-stream" }),
        body: Buffer.alloc(2 * MIB),
      });
      expect([answer.status, answer.error()["message"]]).toEqual([413, "too much for me"]);
    });

    test("with several targets is 400", async () => {
      const { origin } = stage.upstream;
      const config = withConfig({ strategy: { mode: "fallback" }, targets: [target(origin), target(origin)] });
      const answer = await send(stage.gateway, "/v1/files", {
        headers: { "x-gateway-api-key": stage.key, ...config, "content-type": "application/octet-stream" },
        body: "x",
      });
      expect([answer.status, answer.error()["code"]]).toEqual([400, "invalid_config"]);
    });
  });

  describe("other paths", () => {
    test.each(["PATCH", "OPTIONS"] as const)("%s is 405 below /v1", async (method) => {
      const answer = await send(stage.gateway, "/v1/files/x", { method, headers: headers() });
      expect([answer.status, answer.error()["code"]]).toEqual([405, "method_not_allowed"]);
    });

    test.each(["/", "/openapi.json", "/healthz", "/readyz", "/metrics"])(
      "a wrong method on %s is 405 and says which is right",
      async (path) => {
        const answer = await send(stage.gateway, path, { method: "DELETE" });
        expect([answer.status, answer.error()["code"], answer.headers["allow"]]).toEqual([405, "method_not_allowed", "GET, HEAD"]);
      },
    );

    test.each(["/nothing", "/v2/chat/completions", "/v1", "/V1/models", "//v1/models"])("%s is 404", async (path) => {
      const answer = await send(stage.gateway, path);
      expect([answer.status, answer.error()["code"]]).toEqual([404, "not_found"]);
    });

    test.each([
      "/v1/collections",
      "/v1/mcp-servers",
      "/v1/providers/x/y",
      "/v1/admin/users",
      "/v1/logs/exports/1",
      "/v1/prompts/p/completions",
    ])("%s is reserved and never proxied", async (path) => {
      for (const method of ["GET", "POST"] as const) {
        const answer = await send(stage.gateway, path, { method, headers: headers(), ...(method === "POST" ? { body: {} } : {}) });
        expect([answer.status, answer.error()["code"]], `${method} ${path}`).toEqual([404, "not_available"]);
      }
      expect(stage.upstream.requests).toEqual([]);
    });

    test("reserved paths need a key", async () => {
      expect((await send(stage.gateway, "/v1/configs")).status).toBe(401);
    });

    test("GET /v1/models lists ids that work as they stand, and each can be had alone", async () => {
      const list = (await send(stage.gateway, "/v1/models", { headers: { "x-gateway-api-key": stage.key } })).json();
      const data = list["data"] as { id: string; object: string }[];
      expect(list).toMatchObject({ object: "list", total_count: data.length });
      const mock = data.find(({ id }) => id === "@mock/mock-1");
      const saved = data.find(({ id }) => id.startsWith("@saved/"));
      expect(saved).toMatchObject({ object: "model", owned_by: "openai" });
      const one = await send(stage.gateway, `/v1/models/${encodeURIComponent(saved?.id ?? "")}`, {
        headers: { "x-gateway-api-key": stage.key },
      });
      expect(one.json()).toEqual(saved);
      const plain = await send(stage.gateway, `/v1/models/${saved?.id}`, { headers: { "x-gateway-api-key": stage.key } });
      expect(plain.json()).toEqual(saved);
      stage.upstream.script(chatReply("ok"));
      expect((await chat(stage.gateway, stage.key, {}, { model: saved?.id })).status).toBe(200);
      if (mock !== undefined) expect((await chat(stage.gateway, stage.key, {}, { model: mock.id })).status).toBe(200);
      const none = await send(stage.gateway, "/v1/models/nothing", { headers: { "x-gateway-api-key": stage.key } });
      expect([none.status, none.error()["code"]]).toEqual([404, "not_found"]);
      const own = data.filter(({ id }) => /^@(?:saved|claude|mock)\//.test(id));
      expectSameInEveryMode("models", own);
      const sdk = openAi(stage.gateway, stage.key);
      expect((await sdk.models.list()).data.map(({ id }) => id)).toEqual(data.map(({ id }) => id));
    });

    test("/openapi.json describes what there is", async () => {
      const description = (await send(stage.gateway, "/openapi.json")).json();
      expect(description["openapi"]).toMatch(/^3\./);
      expect(Object.keys(description["paths"] as object)).toEqual(
        expect.arrayContaining(["/v1/chat/completions", "/v1/models", "/v1/models/{model}", "/v1/logs", "/v1/logs/{id}"]),
      );
    });

    test("/healthz, /readyz and /metrics", async () => {
      expect((await send(stage.gateway, "/healthz")).json()).toEqual({ status: "ok" });
      expect((await send(stage.gateway, "/readyz")).json()).toEqual({ status: "ready" });
      const metrics = await send(stage.gateway, "/metrics");
      expect(metrics.headers["content-type"]).toContain("text/plain");
      expect(metrics.text).toMatch(/^unigate_requests_total\{.*surface="chat".*class="2xx".*\} [1-9]/m);
      expect(metrics.text).toContain("process_cpu_seconds_total");
      // The suites also run on other releases of Node: then so does what they start.
      expect(metrics.text).toContain(`nodejs_version_info{version="${process.version}"`);
    });

    test("every answer of /v1 has a trace id and a request id", async () => {
      for (const path of ["/v1/models", "/v1/logs", "/v1/configs", "/v1/embeddings"]) {
        stage.upstream.script(jsonReply({}));
        const answer = await send(stage.gateway, path, { headers: headers() });
        expect(answer.headers["x-gateway-trace-id"], path).toMatch(/^[0-9a-f]{32}$/);
        expect(answer.headers["x-request-id"], path).toMatch(/^[0-9a-f-]{36}$/);
      }
    });

    test("HEAD has no body", async () => {
      const answer = await request(`${stage.gateway.origin}/healthz`, { method: "HEAD" });
      expect(answerOf(answer.statusCode, answer.headers, Buffer.from(await answer.body.arrayBuffer()))).toMatchObject({
        status: 200,
        text: "",
      });
    });
  });
});

/** Resident memory of a process, bytes; 0 where the system does not tell. */
function resident(pid: number | undefined): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
