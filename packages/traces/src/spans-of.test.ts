import { type LogHead, newHead } from "@unigate/events";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Span } from "./span.ts";
import { spansOf } from "./spans-of.ts";

const ID = "0190a5e0-0000-7000-8000-00000000ffff";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const USAGE = {
  input: 9,
  cache_read: 4,
  cache_write_5m: 2,
  cache_write_1h: 1,
  output_text: 3,
  reasoning: 5,
  audio_in: 0,
  audio_out: 0,
  image: 0,
  estimated: false,
  units: {},
};

function head(more: Partial<LogHead> = {}): LogHead {
  return {
    ...newHead(ID, 1_700_000_000_100),
    trace_id: TRACE,
    span_id: "00f067aa0ba902b7",
    request_id: "r-1",
    received_at: 1_700_000_000_000,
    last: true,
    sampled: true,
    organisation_id: "org",
    workspace_id: "ws",
    provider: "openai",
    model: "gpt-4o",
    option_path: "config",
    surface: "chat",
    method: "POST",
    path: "/chat/completions",
    status: 200,
    outcome: "success",
    ...more,
    timings: { ...newHead(ID, 0).timings, total_ms: 50, ...more.timings },
  };
}

const byName = (spans: readonly Span[], name: string) => spans.filter((span) => span.name === name);

test("a request and its one target", () => {
  const given = head({
    parent_span_id: "0123456789abcdef",
    response_model: "gpt-4o-2024-08-06",
    finish_reason: "stop",
    stream: true,
    usage: USAGE,
    cost_micro_usd: 1_000_000,
    server_address: "api.openai.com",
    api_key_id: "key-1",
    config_id: "pc-1",
    metadata: { team: "red" },
    timings: { ...head().timings, first_token_ms: 20 },
  });
  const [request, target, ...rest] = spansOf(given);
  expect(rest).toEqual([]);
  expect(request).toEqual({
    traceId: TRACE,
    spanId: "00f067aa0ba902b7",
    parentSpanId: "0123456789abcdef",
    name: "POST /v1/chat/completions",
    kind: "server",
    start: 1_700_000_000_000,
    end: 1_700_000_000_150,
    attributes: {
      "http.request.method": "POST",
      "http.route": "/v1/chat/completions",
      "url.path": "/v1/chat/completions",
      "http.response.status_code": 200,
      "unigate.request.id": "r-1",
      "unigate.organisation.id": "org",
      "unigate.workspace.id": "ws",
      "unigate.api_key.id": "key-1",
      "unigate.config.id": "pc-1",
      "unigate.metadata.team": "red",
    },
    error: null,
  });
  expect(target).toEqual({
    traceId: TRACE,
    spanId: "800000000000ffff",
    parentSpanId: "00f067aa0ba902b7",
    name: "chat gpt-4o",
    kind: "client",
    start: 1_700_000_000_100,
    end: 1_700_000_000_150,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.request.stream": true,
      "gen_ai.response.model": "gpt-4o-2024-08-06",
      "gen_ai.response.finish_reasons": ["stop"],
      "gen_ai.response.time_to_first_chunk": 0.02,
      "gen_ai.usage.input_tokens": 16,
      "gen_ai.usage.output_tokens": 8,
      "gen_ai.usage.cache_read.input_tokens": 4,
      "gen_ai.usage.cache_creation.input_tokens": 3,
      "gen_ai.usage.reasoning.output_tokens": 5,
      "gen_ai.usage.cost": 1,
      "server.address": "api.openai.com",
      "http.response.status_code": 200,
      "unigate.log.id": ID,
      "unigate.attempt": 0,
      "unigate.outcome": "success",
      "unigate.option_path": "config",
    },
    error: null,
  });
});

describe("the plan", () => {
  const timings = { ...head().timings, plan_at_ms: 3, plan_ms: 2 };

  test("is a part of the request, told by its last record", () => {
    const [request, plan] = spansOf(head({ timings }));
    expect(plan).toEqual({
      traceId: TRACE,
      spanId: expect.stringMatching(/^[0-9a-f]{16}$/),
      parentSpanId: request?.spanId,
      name: "plan",
      kind: "internal",
      start: 1_700_000_000_003,
      end: 1_700_000_000_005,
      attributes: {},
      error: null,
    });
    expect(byName(spansOf(head({ timings, last: false })), "plan")).toEqual([]);
    expect(byName(spansOf(head()), "plan")).toEqual([]);
  });

  test("says when the router had no part in it, and is there when it refused", () => {
    const [, plan] = spansOf(head({ timings, decision: { degraded: "router" }, provider: null, outcome: "refused", status: 400 }));
    expect(plan?.attributes).toEqual({ "unigate.plan.degraded": "router" });
  });
});

const fault = (over: object = {}) => ({
  code: "rate_limit_exceeded",
  type: "rate_limit_error",
  message: "slow down",
  blame: "upstream" as const,
  ...over,
});

describe("failures", () => {
  test("of the provider: its status and code on the target, and on the request only what the client got", () => {
    const [request, target] = spansOf(head({ status: 429, outcome: "failed", error: fault() }));
    expect(request).toMatchObject({ error: null, attributes: { "http.response.status_code": 429 } });
    expect(request?.attributes).not.toHaveProperty("error.type");
    expect(target).toMatchObject({
      error: "slow down",
      attributes: { "http.response.status_code": 429, "error.type": "rate_limit_exceeded" },
    });
  });

  test.each<[string, Partial<LogHead>]>([
    ["no answer", { status: 502, outcome: "failed", error: fault({ code: "upstream_unreachable", blame: "network" }) }],
    ["a timeout", { status: 408, outcome: "failed", error: fault({ code: "request_timeout", blame: "client" }) }],
    ["a guardrail", { status: 446, outcome: "denied", error: fault({ code: "hooks_failed", blame: "client" }) }],
    ["a client that left", { status: 499, outcome: "cancelled" }],
  ])("%s is no status of the provider", (_case, more) => {
    const [, target] = spansOf(head(more));
    expect(target?.attributes).not.toHaveProperty("http.response.status_code");
    expect(target?.attributes["error.type"]).toBe(more.error?.code ?? "499");
    expect(target?.error).not.toBeNull();
  });

  test("a request that reached no target is one span", () => {
    const spans = spansOf(head({ provider: null, model: null, status: 503, outcome: "refused", error: fault({ code: "overloaded" }) }));
    expect(spans).toMatchObject([{ kind: "server", error: "slow down", attributes: { "error.type": "overloaded" } }]);
  });

  test("a request that the gateway's end cut off", () => {
    const cut = head({ provider: null, status: 0, outcome: "interrupted", timings: { ...head().timings, total_ms: 0 } });
    expect(spansOf(cut)).toMatchObject([{ error: "interrupted", attributes: { "error.type": "interrupted" } }]);
  });
});

test("a target that was not the last has no span of the request, and all are below the same", () => {
  const ids = ["a", "b", "c"].map((end) => `0190a5e0-0000-7000-8000-00000000000${end}`);
  const spans = ids.flatMap((id, attempt) => spansOf(head({ id, attempt, last: attempt === 2 })));
  expect(spans.map(({ kind }) => kind)).toEqual(["client", "client", "server", "client"]);
  expect(new Set(spans.filter(({ kind }) => kind === "client").map(({ parentSpanId }) => parentSpanId))).toEqual(
    new Set(["00f067aa0ba902b7"]),
  );
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(4);
});

test("tries, guardrails and the look-up are below their target, at their times", () => {
  const hook = (id: string, at: number, took: number, verdict: boolean) => ({
    id,
    verdict,
    execution_time: took,
    created_at: new Date(1_700_000_000_100 + at).toISOString(),
  });
  const spans = spansOf(
    head({
      cache_status: "MISS",
      retries: [
        { at_ms: 10, took_ms: 5, status: 429, wait_ms: 7, error: null },
        { at_ms: 22, took_ms: 3, status: null, wait_ms: 1, error: "upstream_unreachable" },
      ],
      hook_results: { before_request_hooks: [hook("pii", 1, 4, true)], after_request_hooks: [hook("words", 45, 2, false)] },
      timings: { ...head().timings, total_ms: 50, cache_ms: 2, cache_at_ms: 6 },
    }),
  );
  const at = (span: Span | undefined) => [(span?.start ?? 0) - 1_700_000_000_100, (span?.end ?? 0) - 1_700_000_000_100];
  expect(byName(spans, "cache look-up").map(at)).toEqual([[6, 8]]);
  expect(byName(spans, "guardrail pii").map(at)).toEqual([[1, 5]]);
  expect(byName(spans, "guardrail words")).toMatchObject([
    { attributes: { "unigate.guardrail.phase": "after", "unigate.guardrail.verdict": "fail" } },
  ]);
  const tries = byName(spans, "POST");
  expect(tries.map(at)).toEqual([
    [10, 15],
    [22, 25],
    [26, 50],
  ]);
  expect(tries.map(({ attributes, error }) => [attributes["http.request.resend_count"], attributes["error.type"], error])).toEqual([
    [undefined, "429", "429"],
    [1, "upstream_unreachable", "upstream_unreachable"],
    [2, undefined, null],
  ]);
  const target = spans.find(({ name }) => name === "chat gpt-4o");
  const children = spans.filter(({ name }) => !name.includes("chat"));
  expect(children).toHaveLength(6);
  for (const child of children) expect(child.parentSpanId).toBe(target?.spanId);
  expect(target?.attributes["http.request.resend_count"]).toBe(2);
});

test("a stored answer called nobody", () => {
  const [, target] = spansOf(head({ outcome: "cache_hit", cache_status: "HIT", cost_micro_usd: 0 }));
  expect(target).toMatchObject({ kind: "internal", error: null, attributes: { "unigate.cache.status": "HIT", "gen_ai.usage.cost": 0 } });
});

test("a proxied call has no route and no operation but that of its path", () => {
  const [request, target] = spansOf(head({ surface: "proxy", path: "/files/secret-name", model: null, method: "GET" }));
  expect([request?.name, target?.name]).toEqual(["GET", "GET"]);
  expect(request?.attributes).not.toHaveProperty("http.route");
  const [, embeddings] = spansOf(head({ surface: "proxy", path: "/embeddings", model: "e-1", provider: "mistral-ai" }));
  expect(embeddings).toMatchObject({
    name: "embeddings e-1",
    attributes: { "gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "mistral_ai" },
  });
});

test("what the client calls its trace and span stays beside the ids that OpenTelemetry takes", () => {
  const spans = spansOf(head({ trace_id: "order/7", span_id: "step-2", parent_span_id: "step-1", span_name: "summary" }));
  const [request, target] = spans;
  expect(request).toMatchObject({ name: "summary", attributes: { "unigate.trace.id": "order/7" } });
  expect(target?.parentSpanId).toBe(request?.spanId);
  const other = spansOf(head({ trace_id: "order/7", span_id: "step-1", id: ID.replace("ffff", "eeee") }))[0];
  expect(request?.parentSpanId).toBe(other?.spanId);
  expect(request?.traceId).toBe(other?.traceId);
});

test("records of older writers, and strange ones, give spans that can be sent", () => {
  const { last: _, received_at: __, sampled: ___, server_address: ____, ...old } = head();
  expect(spansOf(old)).toHaveLength(1);
  const text = fc.string({ unit: "binary", maxLength: 400 });
  const strange = fc.record({
    id: fc.string({ minLength: 1, maxLength: 64 }),
    trace_id: text,
    span_id: text,
    parent_span_id: fc.option(text),
    span_name: text,
    model: fc.option(text),
    path: text,
    status: fc.integer({ min: 0, max: 999 }),
    hook_results: fc.anything(),
    metadata: fc.dictionary(text, text, { maxKeys: 50 }),
  });
  fc.assert(
    fc.property(strange, (more) => {
      const spans = spansOf(head(more));
      expect(spansOf(head(structuredClone(more)))).toEqual(spans);
      for (const span of spans) {
        expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
        expect(span.spanId).toMatch(/^[0-9a-f]{16}$/);
        expect(span.parentSpanId).toMatch(/^(?:[0-9a-f]{16})?$/);
        expect(span.name.length).toBeLessThanOrEqual(256);
        expect(span.end).toBeGreaterThanOrEqual(span.start);
        expect(Object.keys(span.attributes).length).toBeLessThan(64);
      }
      expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    }),
    { numRuns: 200 },
  );
});
