import { chatReply, gatewayModes, jsonReply, until } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { expectError } from "./envelope.ts";
import { type Answer, chat, openConnection, QUESTION, requestHead, send, target, toUpstream, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { expectSameInEveryMode, useStage } from "./stage.ts";

const BODY_LIMIT = 64 * 1024;
const UPLOAD_LIMIT = 2 * BODY_LIMIT;
const JSON_TYPE = { "content-type": "application/json" };
/** Requests to the management API a minute. */
const MOST = 5;
/** The minute may turn once between the requests. */
const ENOUGH = 2 * MOST + 1;

describe.each(gatewayModes)("too much, %s", (mode) => {
  const stage = useStage(mode, {
    env: {
      UNIGATE_BODY_LIMIT: String(BODY_LIMIT),
      UNIGATE_UPLOAD_LIMIT: String(UPLOAD_LIMIT),
      UNIGATE_INFLIGHT_BYTES: String(BODY_LIMIT + BODY_LIMIT / 2),
      UNIGATE_MANAGEMENT_RPM: String(MOST),
    },
  });
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
  const sized = (bytes: number): string => {
    const start = `${JSON.stringify(QUESTION).slice(0, -1)},"pad":"`;
    return `${start}${"x".repeat(bytes - start.length - 2)}"}`;
  };

  test("the limit itself passes, one byte more is 413", async () => {
    expect((await post(sized(BODY_LIMIT))).status).toBe(200);
    const error = expectError(await post(sized(BODY_LIMIT + 1)), 413, "body_too_large");
    expect(error).toMatchObject({ type: "request_too_large", message: expect.stringContaining(String(BODY_LIMIT)) });
    expect(stage.upstream.requests.length).toBe(1);
  });

  test("an announced body is refused before it is sent", async () => {
    const connection = openConnection(stage.gateway);
    connection.write(requestHead("POST /v1/chat/completions", here({ ...JSON_TYPE, "content-length": "1000000000000" })));
    await until("the answer and the end of the connection", () => connection.closed);
    expect(connection.received()).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close[\s\S]*"body_too_large"/i);
  });

  test.each([
    ["a JSON body", "/v1/chat/completions", "application/json", BODY_LIMIT],
    ["an upload", "/v1/files", "application/octet-stream", UPLOAD_LIMIT],
  ])("%s of unknown length is refused when it passes the limit", async (_, path, type, limit) => {
    const connection = openConnection(stage.gateway);
    connection.write(requestHead(`POST ${path}`, here({ "content-type": type, "transfer-encoding": "chunked" })));
    for (let sent = 0; sent < limit; sent += 8_192) connection.write(`2000\r\n${" ".repeat(8_192)}\r\n`);
    connection.write("1\r\n \r\n");
    await until("the refusal", () => connection.received().includes('"body_too_large"'));
    expect(connection.received()).toMatch(/^HTTP\/1\.1 413 /);
    connection.leave();
    expect(stage.upstream.requests.filter(({ complete }) => complete)).toEqual([]);
  });

  test("an announced upload past its own limit is 413", async () => {
    const answer = await post(Buffer.alloc(UPLOAD_LIMIT + 1), { "content-type": "application/octet-stream" }, "/v1/files");
    expectError(answer, 413, "body_too_large");
    expect(stage.upstream.requests).toEqual([]);
  });

  test("more bodies at once than there is memory for is 503, until one is gone", async () => {
    const waiting = openConnection(stage.gateway);
    const body = sized(BODY_LIMIT);
    waiting.write(requestHead("POST /v1/chat/completions", here({ ...JSON_TYPE, "content-length": String(body.length) })));
    waiting.write(body.slice(0, -1));
    const refused = await until("a second body to be refused", async () => {
      const answer = await post(body);
      return answer.status === 503 ? answer : false;
    });
    expectError(refused, 503, "overloaded");
    expect(refused.headers["retry-after"]).toBe("1");
    waiting.write(body.slice(-1));
    await until("the first to be answered", () => waiting.received().startsWith("HTTP/1.1 200"));
    waiting.leave();
  });

  test("refused bodies leave no memory taken", async () => {
    for (let round = 0; round < 4; round++) {
      expectError(await post(`${sized(BODY_LIMIT - 1)}}`), 400, "invalid_json");
      const cut = openConnection(stage.gateway);
      cut.write(
        requestHead("POST /v1/chat/completions", here({ ...JSON_TYPE, "content-length": String(BODY_LIMIT) })) + sized(BODY_LIMIT / 2),
      );
      cut.leave();
    }
    await until("a body of the largest size to fit again", async () => (await post(sized(BODY_LIMIT))).status === 200);
  });

  test("an upload that is refused half-way does not leave its connection stuck", async () => {
    stage.upstream.always(chatReply("ok"));
    const connection = openConnection(stage.gateway);
    connection.write(requestHead("POST /v1/files", here({ "content-type": "application/octet-stream", "transfer-encoding": "chunked" })));
    for (let sent = 0; sent < 20; sent++) connection.write(`2000\r\n${" ".repeat(8_192)}\r\n`);
    await until("the refusal", () => connection.received().includes("body_too_large"));
    await until("the end of the connection", () => connection.closed, 2_000);
    expect(connection.received()).toMatch(/^connection: close\r?$/im);
  });

  test("an answer that is more than may be held is 502, logged as failed, and a reason for fallback", async () => {
    const large = jsonReply({ choices: [], pad: "x".repeat(3 * BODY_LIMIT) });
    stage.upstream.script(large);
    const answer = await chat(stage.gateway, stage.key, toUpstream(stage.upstream.origin));
    const error = expectError(answer, 502, "upstream_invalid");
    expect(answer.json()["provider"]).toBe("openai");
    const [record] = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), 1);
    expect(record).toMatchObject({ outcome: "failed", status: 502, error: { code: "upstream_invalid", message: error["message"] } });
    expectSameInEveryMode("more than may be held", error);

    stage.upstream.script(large, chatReply("second"));
    const targets = [target(stage.upstream.origin), target(stage.upstream.origin)];
    const next = await chat(stage.gateway, stage.key, withConfig({ strategy: { mode: "fallback" }, targets }));
    expect([next.status, next.headers["x-gateway-last-used-option-index"]]).toEqual([200, "config.targets[1]"]);
  });

  test("a key that asks the management API too often is told when to come back, and its other requests go on", async () => {
    const ask = (path: string) => send(stage.gateway, path, { headers: { "x-gateway-api-key": stage.key } });
    const answers = [];
    for (let request = 0; request < ENOUGH; request += 1) answers.push(await ask("/v1/virtual-keys"));
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.error()).toMatchObject({ code: "rate_limited", type: "api_key_rate_limit_error", param: null });
    const seconds = Number(refused?.headers["retry-after"]);
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(60);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(MOST);
    for (let request = 0; request <= MOST; request += 1) expect((await ask("/v1/models")).status).toBe(200);
  });
});
