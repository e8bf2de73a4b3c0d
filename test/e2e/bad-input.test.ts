import { gzipSync } from "node:zlib";
import { chatReply, gatewayModes } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { expectError } from "./envelope.ts";
import { type Answer, chat, QUESTION, send, target, toUpstream, withConfig } from "./http.ts";
import { logOf, logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";

const JSON_TYPE = { "content-type": "application/json" };

describe.each(gatewayModes)("bad input, %s", (mode) => {
  const stage = useSharedStage(mode);
  beforeEach(() => stage.upstream.always(chatReply("ok")));
  // Whatever came before: the processes live, and a good request is answered.
  afterEach(async () => {
    stage.upstream.always(chatReply("still here"));
    const answer = await chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin));
    expect(answer.text).toContain("still here");
  });

  const here = (more: Record<string, string> = {}): Record<string, string> => ({
    "x-gateway-api-key": stage.key,
    ...toUpstream(stage.upstream.origin),
    ...more,
  });
  const post = (body: string | Uint8Array, headers: Record<string, string> = JSON_TYPE, path = "/v1/chat/completions"): Promise<Answer> =>
    send(stage.gateway, path, { body, headers: here(headers) });
  const ask = (headers: Record<string, string>): Promise<Answer> => chat(stage.gateway, stage.key, here(headers));

  describe("a body", () => {
    test.each([
      ["none", "", "has no body"],
      ["an open brace", "{", "not valid JSON"],
      ["cut", '{"model":', "not valid JSON"],
      ["no JSON", "nonsense", "not valid JSON"],
      ["more behind its end", '{"model":"m"}}', "at byte 13"],
      ["JavaScript", "{model:'m',}", "not valid JSON"],
      ["UTF-16", Buffer.from(JSON.stringify(QUESTION), "utf16le"), "not valid JSON"],
      ["gzip", gzipSync(JSON.stringify(QUESTION)), "not valid JSON"],
      ["null", "null", "must be a JSON object"],
      ["a list", "[]", "must be a JSON object"],
      ["a string", '"x"', "must be a JSON object"],
      ["a number", "1", "must be a JSON object"],
      ["lists 1,000 deep", `{"messages":${"[".repeat(1_000)}${"]".repeat(1_000)}}`, "deeper than 200"],
      ["objects 10,000 deep", `{"x":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}`, "deeper than 200"],
    ])("that is %s is 400 and goes nowhere", async (_, body, text) => {
      const error = expectError(await post(body), 400, "invalid_json");
      expect(error["message"]).toContain(text);
      expect(stage.upstream.requests).toEqual([]);
    });

    test("is not shown in the error: it may hold secrets", async () => {
      const answer = await post('{"password":"hunter2-hunter2" oops}');
      expectError(answer, 400, "invalid_json");
      expect(answer.text).not.toContain("hunter2");
    });

    test("may be nested 200 deep, no more", async () => {
      const nested = (levels: number): string =>
        `${JSON.stringify(QUESTION).slice(0, -1)},"x":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
      expect((await post(nested(200))).status).toBe(200);
      expectError(await post(nested(201)), 400, "invalid_json");
    });

    test.each(["text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded", "x".repeat(500)])(
      "of type %s is 400",
      async (type) => {
        const error = expectError(await post(JSON.stringify(QUESTION), { "content-type": type }), 400, "invalid_content_type");
        expect(error).toMatchObject({ param: "content-type", message: expect.stringMatching(/application\/json/) });
      },
    );

    test.each(["APPLICATION/JSON", "application/json; charset=utf-8", ""])("of type %j is taken for JSON", async (type) => {
      expect((await post(JSON.stringify(QUESTION), { "content-type": type })).status).toBe(200);
    });

    test("with a name twice means the last one, as the log says", async () => {
      const answer = await post('{"model":"first","messages":[{"role":"user","content":"x"}],"model":"last"}');
      expect(answer.status).toBe(200);
      const [record] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1);
      expect(record).toMatchObject({ model: "last", outcome: "success" });
    });

    test("with __proto__ in it changes nothing but itself", async () => {
      const body =
        '{"__proto__":{"stream":true,"n":0},"constructor":{"prototype":{"n":0}},"model":"m","messages":[{"role":"user","content":"x"}]}';
      const config = withConfig(target(stage.upstream.origin, { override_params: { seed: 1 } }));
      for (const headers of [JSON_TYPE, { ...JSON_TYPE, ...config }]) {
        const answer = await post(body, headers);
        expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json"]);
      }
      const hostile = `{"provider":"openai","api_key":"k","custom_host":"${stage.upstream.origin}/v1","__proto__":{"request_timeout":1},"override_params":{"__proto__":{"stream":true}},"drop_params":["__proto__.polluted","constructor.prototype"]}`;
      expect((await post(JSON.stringify(QUESTION), { ...JSON_TYPE, "x-gateway-config": hostile })).status).toBe(200);
      const plain = stage.upstream.requests.length;
      expect((await post(JSON.stringify(QUESTION))).status).toBe(200);
      expect(JSON.parse(String(stage.upstream.requests[plain]?.body))).toEqual(QUESTION);
    });

    test("with text that no encoding knows reaches the provider as it came, and its log can be read", async () => {
      const surrogates = '{"model":"m\\ud800","messages":[{"role":"user","content":"a\\ud800b\\udc00\\u0000"}]}';
      const [head = "", tail = ""] = JSON.stringify(QUESTION).split("Hello");
      const notUtf8 = Buffer.concat([Buffer.from(head), Buffer.from([0xff, 0xfe, 0xc3, 0x28]), Buffer.from(tail)]);
      for (const [index, body] of [Buffer.from(surrogates), notUtf8].entries()) {
        const answer = await post(body, { ...JSON_TYPE, "x-gateway-metadata": '{"a":"\\udc00\\u0000"}' });
        expect(answer.status, answer.text).toBe(200);
        expect(stage.upstream.requests[index]?.body.equals(body)).toBe(true);
        const [record] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1);
        expect((await logOf(stage.gateway, stage.key, String(record?.["id"])))["request"]).toBeDefined();
      }
      const shaped = withConfig(target(stage.upstream.origin, { override_params: { seed: 1 } }));
      expect((await post(surrogates, { ...JSON_TYPE, ...shaped })).status).toBe(200);
      expect(JSON.parse(String(stage.upstream.requests[2]?.body))).toEqual({ ...(JSON.parse(surrogates) as object), seed: 1 });
    });
  });

  describe("a header", () => {
    test.each(["{", "[]", "1", "null", '"x"', "pc-x", '{"a":1}', '{"a":null}', '{"a":{"b":"c"}}', '{"__proto__":"x"}'])(
      "x-gateway-metadata: %s is 400",
      async (metadata) => {
        const error = expectError(await ask({ "x-gateway-metadata": metadata }), 400, "invalid_metadata");
        expect(error).toMatchObject({ param: "x-gateway-metadata", message: expect.stringContaining("x-gateway-metadata") });
        expect(stage.upstream.requests).toEqual([]);
      },
    );

    test.each(["nonsense", "00-zzz-1-01", `00-${"0".repeat(32)}-${"0".repeat(16)}-01`, `ff-${"a".repeat(32)}-${"b".repeat(16)}-01`])(
      "traceparent: %s is as good as none",
      async (traceparent) => {
        const answer = await ask({ traceparent });
        expect(answer.status).toBe(200);
        expect(answer.headers["x-gateway-trace-id"]).toMatch(/^(?!0{32})(?!a{32})[0-9a-f]{32}$/);
      },
    );

    test.each(["a b", "<script>", "x".repeat(201), "ünï"])("x-gateway-trace-id: %s does not come back", async (traceId) => {
      const answer = await ask({ "x-gateway-trace-id": traceId });
      expect(answer.headers["x-gateway-trace-id"]).toMatch(/^[0-9a-f]{32}$/);
    });

    test("of 100 KiB passes; past 128 KiB it is 431", async () => {
      expect((await ask({ "x-filler": "x".repeat(100 * 1024) })).status).toBe(200);
      const error = expectError(await ask({ "x-filler": "x".repeat(129 * 1024) }), 431, "headers_too_large");
      expect(error["message"]).toContain("headers");
    });
  });
});
