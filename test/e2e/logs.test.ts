import type { JsonObject } from "@unigate/core";
import { logRecordSchema } from "@unigate/events";
import { chatReply, chatStreamReply, cutReply, errorReply, hangReply, jsonReply, until } from "@unigate/testkit";
import { describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { type Answer, chat, send, target, withConfig } from "./http.ts";
import { logOf, logsOf } from "./logs.ts";
import { openAi, seenOfStream } from "./sdk.ts";
import { useSharedStage } from "./shared-stage.ts";
import { declaredKey, expectSameInEveryMode } from "./stage.ts";

const UUID_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const QUESTION = { model: "gpt-test", messages: [{ role: "user" as const, content: "Hello" }] };

describe.each(setups)("logs, %s", (mode) => {
  const team = declaredKey("team", { defaults: { metadata: { team: "red", env: "of the key" } } });
  const neighbour = declaredKey("neighbour of logs", { workspace: "ws-neighbour" });
  const whole = declaredKey("whole organisation", { type: "organisation-service" });
  const stranger = declaredKey("stranger to logs", { organisation: "org-stranger" });
  const pages = declaredKey("pages", { organisation: "org-pages" });
  const stage = useSharedStage(mode, ({ origin }) => ({
    providers: [{ slug: "saved", provider: "openai", api_key: "sk-saved", custom_host: `${origin}/v1` }],
    configs: [{ id: "pc-retries", config: { provider: "@saved", retry: { attempts: 1, use_retry_after_headers: true } } }],
    keys: [team, neighbour, whole, stranger, pages],
  }));
  let number = 0;

  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);
  const newTrace = (): string => `logs-${mode}-${number++}`;

  function list(query: string, key = stage.key): Promise<Answer> {
    return send(stage.gateway, `/v1/logs${query}`, { headers: { "x-gateway-api-key": key } });
  }
  const dataOf = (answer: Answer): JsonObject[] => answer.json()["data"] as JsonObject[];

  /** What the record says of a call, whole and in the form of the schema. */
  async function recordsOf(traceId: string, count = 1, key = stage.key): Promise<JsonObject[]> {
    const records = await logsOf(stage.gateway, key, traceId, count);
    const known = [...Object.keys(logRecordSchema.shape), "cost", "cost_currency", "spans"];
    for (const { id } of records) {
      const record = await logOf(stage.gateway, key, String(id));
      const read = logRecordSchema.safeParse(record);
      expect(read.error?.issues ?? []).toEqual([]);
      expect(Object.keys(record).filter((name) => !known.includes(name))).toEqual([]);
    }
    return records;
  }

  test("what the SDK just did: every field of a call", async () => {
    stage.upstream.script(chatReply("hello back", { headers: { "x-request-id": "req-upstream" } }));
    const traceId = newTrace();
    const sdk = openAi(stage.gateway, team.key, {
      "x-gateway-config": "pc-retries",
      "x-gateway-trace-id": traceId,
      "x-gateway-metadata": '{"env":"of the request","user":"u-1"}',
    });
    const before = Date.now();
    const { response } = await sdk.chat.completions.create(QUESTION).withResponse();
    const [record] = await recordsOf(traceId, 1, team.key);
    expect(record).toEqual({
      id: expect.stringMatching(UUID_7) as unknown,
      schema_version: 1,
      type: "request",
      time: expect.any(Number) as unknown,
      trace_id: traceId,
      span_id: expect.stringMatching(/^[0-9a-f]{16}$/) as unknown,
      parent_span_id: null,
      span_name: expect.any(String) as unknown,
      sampled: true,
      request_id: response.headers.get("x-request-id"),
      attempt: 0,
      last: true,
      received_at: expect.any(Number) as unknown,
      organisation_id: "org-default",
      workspace_id: "ws-default",
      api_key_id: "key-team",
      config_id: "pc-retries",
      config_version: expect.any(String) as unknown,
      option_path: "config",
      provider: "openai",
      provider_slug: "saved",
      server_address: new URL(stage.upstream.origin).hostname,
      model: "gpt-test",
      response_model: "gpt-test",
      surface: "chat",
      method: "POST",
      path: "/chat/completions",
      stream: false,
      status: 200,
      outcome: "success",
      error: null,
      usage: {
        input: 9,
        cache_read: 0,
        cache_write_5m: 0,
        cache_write_1h: 0,
        output_text: 3,
        reasoning: 0,
        audio_in: 0,
        audio_out: 0,
        image: 0,
        estimated: false,
        units: {},
      },
      cost_micro_usd: null,
      cost: null,
      cost_currency: "USD",
      cache_status: "DISABLED",
      retries: [],
      finish_reason: "stop",
      timings: expect.objectContaining({ retry_wait_ms: 0 }) as unknown,
      metadata: { team: "red", env: "of the key", user: "u-1" },
      decision: null,
      hook_results: null,
    });
    expect(Number(record?.["time"])).toBeGreaterThanOrEqual(before);
    expect(Number(record?.["time"])).toBeLessThanOrEqual(Date.now());
    expectSameInEveryMode("a record", {
      ...record,
      id: 0,
      time: 0,
      received_at: 0,
      trace_id: 0,
      span_id: 0,
      request_id: 0,
      timings: 0,
      config_version: 0,
    });

    const found = await logOf(stage.gateway, team.key, String(record?.["id"]));
    expect(found).toEqual({
      ...record,
      spans: expect.any(Array) as unknown,
      request: { headers: null, body: QUESTION, truncated: false },
      response: { headers: null, body: expect.objectContaining({ object: "chat.completion" }) as unknown, truncated: false },
    });
  });

  test("a stream, with its usage and the answer put together", async () => {
    stage.upstream.script(chatStreamReply(["hello ", "back"]));
    const traceId = newTrace();
    const sdk = openAi(stage.gateway, stage.key, { ...withConfig(here()), "x-gateway-trace-id": traceId });
    await seenOfStream(await sdk.chat.completions.create({ ...QUESTION, stream: true }));
    const [record] = await recordsOf(traceId);
    expect(record).toMatchObject({
      stream: true,
      status: 200,
      outcome: "success",
      finish_reason: "stop",
      response_model: "gpt-test",
      usage: { input: 9, output_text: 3, estimated: false },
      config_id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as unknown,
      provider_slug: null,
    });
    const found = await logOf(stage.gateway, stage.key, String(record?.["id"]));
    expect(found["request"]).toMatchObject({ body: { stream: true } });
    expect(found["response"]).toMatchObject({ body: { choices: [{ message: { content: "hello back" }, finish_reason: "stop" }] } });
  });

  test("what a call costs, unary and streamed, and nothing for a stored answer", async () => {
    const traceId = newTrace();
    const headers = { ...withConfig(here({ cache: { mode: "simple", max_age: 60 } })), "x-gateway-trace-id": traceId };
    const body = { model: "gpt-4o", messages: [{ role: "user", content: traceId }] };
    stage.upstream.script(chatReply("ok"), chatStreamReply(["ok"]));
    await chat(stage.gateway, stage.key, headers, body);
    await chat(stage.gateway, stage.key, headers, body);
    await chat(stage.gateway, stage.key, { ...headers, "x-gateway-cache-force-refresh": "true" }, { ...body, stream: true });
    const records = (await recordsOf(traceId, 3)).toReversed();
    // 9 tokens at 2.50 and 3 at 10 USD for a million.
    const known = { usage: { input: 9, output_text: 3 }, cost_micro_usd: 53, cost: 0.000053, cost_currency: "USD" };
    expect(records).toMatchObject([
      { stream: false, ...known },
      { outcome: "cache_hit", cost_micro_usd: 0, cost: 0, cost_currency: "USD" },
      { stream: true, ...known },
    ]);
    expect(await logOf(stage.gateway, stage.key, String(records[0]?.["id"]))).toMatchObject({ cost: 0.000053, cost_currency: "USD" });
  });

  test("the time until a stream's first word", async () => {
    stage.upstream.script(chatStreamReply([60, "late ", 60, "words"]));
    const traceId = newTrace();
    await chat(stage.gateway, stage.key, { ...withConfig(here()), "x-gateway-trace-id": traceId }, { stream: true });
    const [record] = await recordsOf(traceId);
    const timings = record?.["timings"] as { first_token_ms: number | null; total_ms: number };
    expect(timings.first_token_ms).toBeGreaterThanOrEqual(50);
    expect(timings.first_token_ms).toBeLessThan(timings.total_ms);
  });

  test("a fallback is one record for each target that was tried, in their order", async () => {
    const soon = { "retry-after-ms": "5" };
    stage.upstream.script(errorReply(429, "slow", soon), errorReply(429, "slow", soon), cutReply(), chatReply("third"));
    const retry = { attempts: 1, use_retry_after_headers: true };
    const config = { strategy: { mode: "fallback" }, targets: [here({ retry }), here(), here()] };
    const traceId = newTrace();
    await chat(stage.gateway, stage.key, { ...withConfig(config), "x-gateway-trace-id": traceId });
    const records = await recordsOf(traceId, 3);
    expect(records).toMatchObject([
      {
        attempt: 0,
        option_path: "config.targets[0]",
        outcome: "failed",
        status: 429,
        error: { code: "scripted", message: "slow" },
        retries: [{ at_ms: expect.any(Number) as unknown, took_ms: expect.any(Number) as unknown, status: 429, wait_ms: 5 }],
        timings: { retry_wait_ms: 5 },
        usage: null,
      },
      {
        attempt: 1,
        option_path: "config.targets[1]",
        outcome: "failed",
        status: 502,
        error: { code: "upstream_unreachable", blame: "network" },
      },
      { attempt: 2, option_path: "config.targets[2]", outcome: "success", status: 200, error: null, usage: { input: 9 } },
    ]);
    expect(new Set(records.map((record) => record["request_id"])).size).toBe(1);
    expect(new Set(records.map((record) => record["id"])).size).toBe(3);
  });

  test.each([
    [
      "an error of the upstream",
      errorReply(400, "no such model"),
      {},
      { status: 400, outcome: "failed", error: { message: "no such model" } },
    ],
    ["a timeout", hangReply(), { request_timeout: 60 }, { status: 408, outcome: "failed", error: { code: "request_timeout" } }],
    [
      "an unknown provider",
      chatReply("never"),
      { provider: "opnai" },
      { status: 400, outcome: "failed", provider: null, error: { code: "unknown_provider" } },
    ],
    ["a broken stream", chatStreamReply(["x"], { ending: "cut" }), { override_params: { stream: true } }, { stream: true }],
  ])("%s", async (_, reply, over, expected) => {
    stage.upstream.script(reply);
    const traceId = newTrace();
    await chat(stage.gateway, stage.key, { ...withConfig(here(over)), "x-gateway-trace-id": traceId });
    const [record] = await recordsOf(traceId);
    expect(record).toMatchObject(expected);
  });

  test("a proxied call, without its query", async () => {
    stage.upstream.script(jsonReply({ ok: true }));
    const traceId = newTrace();
    const headers = { "x-gateway-api-key": stage.key, ...withConfig(here()), "x-gateway-trace-id": traceId };
    await send(stage.gateway, "/v1/embeddings?page=secret", { headers, body: { model: "e", input: "x" } });
    const [record] = await recordsOf(traceId);
    expect(record).toMatchObject({ surface: "proxy", method: "POST", path: "/embeddings", status: 200, outcome: "success", model: "e" });
    expect(JSON.stringify(record)).not.toContain("secret");
  });

  test("a trace of the client's own", async () => {
    stage.upstream.script(chatReply("ok"));
    const [trace, span] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
    await chat(stage.gateway, stage.key, { ...withConfig(here()), traceparent: `00-${trace}-${span}-01` });
    const [record] = await recordsOf(trace);
    expect(record).toMatchObject({ trace_id: trace, parent_span_id: span });
  });

  test("without bodies for those who want no trace of them", async () => {
    stage.upstream.script(chatReply("ok"));
    const traceId = newTrace();
    await chat(stage.gateway, stage.key, { ...withConfig(here()), "x-gateway-trace-id": traceId, "x-gateway-debug": "false" });
    const [record] = await recordsOf(traceId);
    const found = await logOf(stage.gateway, stage.key, String(record?.["id"]));
    expect(found).toMatchObject({ status: 200, usage: { input: 9 } });
    expect(JSON.stringify([found["request"], found["response"]])).not.toContain("Hello");
  });

  describe("the list", () => {
    test("an empty one", async () => {
      const answer = await list("?trace_id=nothing");
      expect(answer.json()).toEqual({ object: "list", data: [], next_cursor: null, has_more: false });
    });

    test("newest first, page by page, each record once", async () => {
      stage.upstream.always(chatReply("ok"));
      const config = withConfig(here());
      for (let index = 0; index < 7; index++) await chat(stage.gateway, pages.key, { ...config, "x-gateway-trace-id": `page-${index}` });
      await until("all records", async () => dataOf(await list("", pages.key)).length === 7);
      const seen: unknown[] = [];
      const sizes: unknown[] = [];
      let cursor = "";
      do {
        const page = (await list(`?limit=3${cursor}`, pages.key)).json() as unknown as {
          object: string;
          data: JsonObject[];
          next_cursor: string | null;
          has_more: boolean;
        };
        expect([page.object, page.has_more]).toEqual(["list", page.next_cursor !== null]);
        seen.push(...page.data.map((record) => record["trace_id"]));
        sizes.push(page.data.length);
        cursor = page.next_cursor === null ? "" : `&cursor=${encodeURIComponent(page.next_cursor)}`;
        // What comes meanwhile does not shift the pages.
        await chat(stage.gateway, pages.key, { ...config, "x-gateway-trace-id": "meanwhile" });
      } while (cursor !== "" && sizes.length < 10);
      expect(seen).toEqual(Array.from({ length: 7 }, (_, index) => `page-${6 - index}`));
      expect(sizes).toEqual([3, 3, 1]);
    });

    test("by each filter, and by several", async () => {
      stage.upstream.script(chatReply("ok"), errorReply(418, "tea"));
      const traceId = newTrace();
      const headers = { "x-gateway-trace-id": traceId };
      const started = Date.now();
      await chat(stage.gateway, team.key, { "x-gateway-config": "pc-retries", ...headers }, { model: "model-a" });
      await chat(stage.gateway, stage.key, { ...withConfig(here()), ...headers }, { model: "model-b" });
      const all = await recordsOf(traceId, 2);
      expect(all.length).toBe(2);
      const models = async (filter: string): Promise<unknown[]> =>
        dataOf(await list(`?trace_id=${traceId}&${filter}`)).map((record) => record["model"]);
      expect(await models("model=model-a")).toEqual(["model-a"]);
      expect(await models("status=418")).toEqual(["model-b"]);
      expect(await models("provider=saved")).toEqual(["model-a"]);
      expect(await models("provider=openai")).toEqual(["model-b", "model-a"]);
      expect(await models("api_key_id=key-team")).toEqual(["model-a"]);
      expect(await models("status=200&model=model-b")).toEqual([]);
      expect(await models(`from=${started}`)).toEqual(["model-b", "model-a"]);
      expect(await models(`to=${started}`)).toEqual([]);
      expect(await models(`from=${new Date(Date.now() + 60_000).toISOString()}`)).toEqual([]);
    });

    test.each([
      ["limit=0", "limit"],
      ["limit=101", "limit"],
      ["limit=x", "limit"],
      ["cursor=nonsense", "cursor"],
      ["status=abc", "status"],
      ["from=yesterday", "from"],
    ])("refuses ?%s by name", async (query, param) => {
      const answer = await list(`?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.error()["param"]).toBe(param);
      expectSameInEveryMode(`refuses ${query}`, answer.error());
    });

    test("refuses a filter that it does not know, rather than giving everything", async () => {
      const answer = await list("?user=u-1");
      expect([answer.status, answer.status === 400 ? answer.error()["param"] : null]).toEqual([400, "user"]);
    });
  });

  test("a workspace sees its own, an organisation all of its workspaces, another one nothing", async () => {
    stage.upstream.script(chatReply("ok"));
    const traceId = newTrace();
    await chat(stage.gateway, stage.key, { ...withConfig(here()), "x-gateway-trace-id": traceId });
    const [record] = await recordsOf(traceId);
    const sees = async (key: string): Promise<[number, number]> => [
      dataOf(await list(`?trace_id=${traceId}`, key)).length,
      (await send(stage.gateway, `/v1/logs/${String(record?.["id"])}`, { headers: { "x-gateway-api-key": key } })).status,
    ];
    expect(await sees(stage.key)).toEqual([1, 200]);
    expect(await sees(whole.key)).toEqual([1, 200]);
    expect(await sees(neighbour.key)).toEqual([0, 404]);
    expect(await sees(stranger.key)).toEqual([0, 404]);
  });

  test.each(["nothing", "00000000-0000-7000-8000-000000000000", "%20", "a%2Fb"])("there is no record %s", async (id) => {
    const answer = await send(stage.gateway, `/v1/logs/${id}`, { headers: { "x-gateway-api-key": stage.key } });
    expect([answer.status, answer.error()["code"]]).toEqual([404, "not_found"]);
  });

  test("no record holds a credential", async () => {
    stage.upstream.always(chatReply("ok"));
    await chat(stage.gateway, stage.key, {
      "x-gateway-provider": "openai",
      authorization: "Bearer sk-of-the-client",
      "x-gateway-custom-host": `${stage.upstream.origin}/v1`,
    });
    const records = dataOf(await list("?limit=100", whole.key));
    for (const { id } of records.slice(0, 30)) {
      const text = JSON.stringify(await logOf(stage.gateway, whole.key, String(id)));
      expect(text).not.toMatch(/sk-of-the-client|sk-saved|sk-upstream|ugw-/);
    }
  });
});
