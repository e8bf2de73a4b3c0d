import { chatReply, chatStreamReply, errorReply, until } from "@unigate/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { type Answer, chat, openConnection, QUESTION, readStream, requestHead, send, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey, expectSameInEveryMode } from "./stage.ts";

const MINUTE_MS = 60_000;

/** Windows are aligned to the minute: what is counted together must not begin right before its end. */
async function minuteWithTime(): Promise<void> {
  await until("a minute that lasts a while", () => Date.now() % MINUTE_MS < MINUTE_MS - 6_000);
}

/** A key with so many requests a minute. */
function limited(name: string, value: number, over: object = {}): ReturnType<typeof declaredKey> {
  return declaredKey(name, { rate_limits: [{ type: "requests", unit: "rpm", value }], ...over });
}

describe.each(setups)("limits of a key, %s", (mode) => {
  const three = limited("three", 3);
  const ten = limited("ten", 10);
  const two = limited("two", 2);
  const mixed = limited("mixed", 2);
  const blocked = limited("blocked", 0);
  const failing = limited("failing", 1);
  const leaving = limited("leaving", 1);
  const tokens = declaredKey("tokens", { rate_limits: [{ type: "tokens", unit: "rpm", value: 20 }] });
  const several = declaredKey("several", {
    rate_limits: [
      { type: "requests", unit: "rpd", value: 100 },
      { type: "requests", unit: "rpm", value: 2 },
    ],
  });
  const stage = useSharedStage(mode, () => ({ keys: [three, ten, two, mixed, blocked, failing, leaving, tokens, several] }));
  beforeEach(async () => {
    stage.upstream.always(({ body }) => (String(body).includes('"stream":true') ? chatStreamReply(["ok"]) : chatReply("ok")));
    await minuteWithTime();
  });

  function ask(key: { readonly key: string }, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return chat(stage.gateway, key.key, { ...withConfig(target(stage.upstream.origin)), ...headers }, body);
  }
  const limitHeaders = ({ headers }: Answer): unknown[] => ["limit", "remaining"].map((name) => headers[`x-ratelimit-${name}-requests`]);

  test("as many a minute as it says, the next is 429 and says when to come again", async () => {
    const answers = [await ask(three), await ask(three), await ask(three)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(limitHeaders)).toEqual([
      ["3", "2"],
      ["3", "1"],
      ["3", "0"],
    ]);
    const refused = await ask(three);
    expect(refused.status).toBe(429);
    expect(limitHeaders(refused)).toEqual(["3", "0"]);
    const wait = Number(refused.headers["retry-after"]);
    const leftMs = MINUTE_MS - (Date.now() % MINUTE_MS);
    expect(Math.abs(wait * 1_000 - leftMs)).toBeLessThan(3_000);
    expect(refused.headers["x-ratelimit-reset-requests"]).toBe(`${wait}s`);
    expect(refused.error()).toEqual({
      message: `The rate limit of this API key is reached; try again in ${wait} s.`,
      type: "api_key_rate_limit_error",
      param: null,
      code: "rate_limited",
    });
    expect(refused.headers["x-gateway-trace-id"]).toMatch(/^[0-9a-f]{32}$/);
    expect(stage.upstream.requests.length).toBe(3);
    expectSameInEveryMode("429", { ...refused.error(), message: "" });

    const traceId = String(refused.headers["x-gateway-trace-id"]);
    const [record] = await logsOf(stage.gateway, stage.key, traceId, 1);
    expect(record).toMatchObject({
      outcome: "refused",
      status: 429,
      api_key_id: "key-three",
      provider: null,
      usage: null,
      error: { code: "rate_limited", blame: "client" },
    });
  });

  test("of 40 calls at once, 10 pass where 10 are allowed", async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(ten)));
    const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 200), ...Array.from({ length: 30 }, () => 429)]);
    expect(stage.upstream.requests.length).toBe(10);
  });

  test("another key, and reading logs and models, are not counted", async () => {
    const question = { headers: { "x-gateway-api-key": two.key } };
    for (const path of ["/v1/logs", "/v1/models", "/v1/logs", "/v1/models"])
      expect((await send(stage.gateway, path, question)).status).toBe(200);
    expect((await chat(stage.gateway, stage.key, withConfig(target(stage.upstream.origin)))).status).toBe(200);
    expect([(await ask(two)).status, (await ask(two)).status, (await ask(two)).status]).toEqual([200, 200, 429]);
  });

  test("a streamed call counts, and a stream is refused as JSON", async () => {
    const streamed = await ask(mixed, { stream: true });
    expect(readStream(streamed.text)).toMatchObject({ content: "ok", done: true });
    expect(limitHeaders(streamed)).toEqual(["2", "1"]);
    expect((await ask(mixed)).status).toBe(200);
    const refused = await ask(mixed, { stream: true });
    expect([refused.status, refused.headers["content-type"], refused.error()["code"]]).toEqual([429, "application/json", "rate_limited"]);
    const sdk = openAi(stage.gateway, mixed.key, withConfig(target(stage.upstream.origin)));
    const asked = sdk.chat.completions.create({ model: "m", messages: [{ role: "user", content: "x" }], stream: true });
    await expect(asked).rejects.toMatchObject({ status: 429, code: "rate_limited", type: "api_key_rate_limit_error" });
  });

  test("a proxied call counts and is refused likewise", async () => {
    const headers = { "x-gateway-api-key": blocked.key, ...withConfig(target(stage.upstream.origin)) };
    const answer = await send(stage.gateway, "/v1/embeddings", { headers, body: { model: "m", input: "x" } });
    expect([answer.status, answer.error()["code"]]).toEqual([429, "rate_limited"]);
    expect(stage.upstream.requests.length).toBe(0);
  });

  test("0 lets nothing through", async () => {
    const answer = await ask(blocked);
    expect([answer.status, ...limitHeaders(answer)]).toEqual([429, "0", "0"]);
  });

  test("a call whose upstream failed counts", async () => {
    stage.upstream.always(errorReply(500, "no"));
    expect([(await ask(failing)).status, (await ask(failing)).status]).toEqual([500, 429]);
  });

  test("a call whose client left counts", async () => {
    stage.upstream.always(chatStreamReply(["first", new Promise(() => {})]));
    const body = JSON.stringify({ ...QUESTION, stream: true });
    const connection = openConnection(stage.gateway);
    const headers = { "x-gateway-api-key": leaving.key, ...withConfig(target(stage.upstream.origin)), "content-type": "application/json" };
    connection.write(requestHead("POST /v1/chat/completions", { ...headers, "content-length": String(body.length) }) + body);
    await until("the first word", () => connection.received().includes("first"));
    connection.leave();
    await stage.upstream.closed(0);
    expect((await ask(leaving)).status).toBe(429);
  });

  test("the tightest of several is the one that is told", async () => {
    const answers = [await ask(several), await ask(several), await ask(several)];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.map(limitHeaders)).toEqual([
      ["2", "1"],
      ["2", "0"],
      ["2", "0"],
    ]);
  });

  test("tokens that were used are counted after the answer", async () => {
    expect((await ask(tokens)).status).toBe(200);
    // 12 tokens each: two answers are more than 20.
    const refused = await until("the tokens to be used up", async () => {
      const answer = await ask(tokens);
      return answer.status === 429 && answer;
    });
    expect(refused.error()["code"]).toBe("rate_limited");
    expect(stage.upstream.requests.length).toBeLessThan(20);
  });

  test("a limit of tokens is not told as one of requests", async () => {
    const answer = await ask(tokens);
    expect(limitHeaders(answer)).toEqual([undefined, undefined]);
    expect(answer.headers["x-ratelimit-limit-tokens"]).toBe("20");
  });
});
