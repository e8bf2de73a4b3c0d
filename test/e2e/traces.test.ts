import { type AnyValue, ExportTraceServiceRequest, type Span, SpanKind } from "@unigate/contracts";
import { type JsonObject, newSpanId, newTraceId } from "@unigate/core";
import { chatReply, errorReply, jsonReply, type ReceivedRequest, requirement, startUpstream, type Upstream, until } from "@unigate/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { setups } from "./engines.ts";
import { chat, send, target, withConfig } from "./http.ts";
import { logOf, logsOf } from "./logs.ts";
import { openAi } from "./sdk.ts";
import { useStage } from "./stage.ts";

const QUESTION = { model: "gpt-4o", messages: [{ role: "user" as const, content: "Hello" }] };
/** Spans are gathered for a second, and tried again after some. */
const PATIENCE_MS = 30_000;

describe.skipIf(!requirement("long").available).each(setups)("traces, %s", (setup) => {
  let collector: Upstream;
  /** What the collector took. */
  let taken: ReceivedRequest[] = [];
  function take(request: ReceivedRequest) {
    taken.push(request);
    return jsonReply({});
  }
  beforeAll(async () => {
    collector = await startUpstream();
  });
  afterAll(() => collector.close());
  beforeEach(() => {
    taken = [];
    collector.always(take);
  });
  const stage = useStage(setup, {
    env: {
      get UNIGATE_OTLP_ENDPOINT() {
        return collector.origin;
      },
      UNIGATE_OTLP_HEADERS: "x-collector-key=of%20the%20operator",
    },
  });
  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);

  /** Spans of a trace that the collector took. */
  function spansOf(traceId: string): Span[] {
    return taken
      .filter(({ url }) => url === "/v1/traces")
      .flatMap(({ body }) => ExportTraceServiceRequest.decode(body).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
      .filter((span) => hex(span.traceId) === traceId);
  }
  const arrived = (traceId: string, count: number): Promise<Span[]> =>
    until(
      `${count} spans of ${traceId}`,
      () => {
        const spans = spansOf(traceId);
        return spans.length >= count ? spans : false;
      },
      PATIENCE_MS,
    );

  test("a call of the official SDK is in the caller's trace, with what it used and cost", async () => {
    stage.upstream.script(chatReply("hello"));
    const [traceId, parent] = [newTraceId(), newSpanId()];
    const sdk = openAi(stage.gateway, stage.key, { ...withConfig(here()), traceparent: `00-${traceId}-${parent}-01` });
    await sdk.chat.completions.create(QUESTION);
    const [request, call, ...rest] = (await arrived(traceId, 2)).sort(rootFirst);
    expect(rest).toEqual([]);
    expect([request?.kind, hex(request?.parentSpanId), request?.name]).toEqual([SpanKind.SERVER, parent, "POST /v1/chat/completions"]);
    expect(call?.kind).toBe(SpanKind.CLIENT);
    expect(hex(call?.parentSpanId)).toBe(hex(request?.spanId));
    expect(attributesOf(request)).toMatchObject({ "http.request.method": "POST", "http.response.status_code": 200 });
    expect(attributesOf(call)).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-4o",
      "gen_ai.response.model": "gpt-test",
      "gen_ai.usage.input_tokens": 9,
      "gen_ai.usage.output_tokens": 3,
      "gen_ai.usage.cost": 0.000053,
      "server.address": "127.0.0.1",
      "http.response.status_code": 200,
    });
    const [start, end] = [call?.startTimeUnixNano, call?.endTimeUnixNano].map(Number);
    expect(Math.abs(Number(start) / 1e6 - Date.now())).toBeLessThan(60_000);
    expect(Number(end)).toBeGreaterThanOrEqual(Number(start));
    expect(taken.at(-1)?.headers).toMatchObject({ "x-collector-key": "of the operator" });
  });

  test("each target of a fallback is a span, its tries below it; the log gives the same", async () => {
    const soon = { "retry-after-ms": "5" };
    stage.upstream.script(errorReply(429, "slow", soon), errorReply(429, "slow", soon), chatReply("ok"));
    const retry = { attempts: 1, use_retry_after_headers: true };
    const config = { strategy: { mode: "fallback" }, targets: [here({ retry }), here()] };
    const traceId = newTraceId();
    await chat(stage.gateway, stage.key, { ...withConfig(config), traceparent: `00-${traceId}-${newSpanId()}-01` });
    const spans = await arrived(traceId, 6);
    const [request] = spans.sort(rootFirst);
    const below = spans.filter((span) => hex(span.parentSpanId) === hex(request?.spanId));
    expect(below.filter((span) => span.name === "plan")).toHaveLength(1);
    const calls = below.filter((span) => span.name !== "plan");
    expect(new Set(calls.map((span) => attributesOf(span)["http.response.status_code"]))).toEqual(new Set([200, 429]));
    const failed = calls.find((span) => attributesOf(span)["error.type"] !== undefined);
    const tries = spans.filter((span) => hex(span.parentSpanId) === hex(failed?.spanId));
    expect(tries.map((span) => [span.name, attributesOf(span)["error.type"]])).toEqual([
      ["POST", "scripted"],
      ["POST", "scripted"],
    ]);

    const records = await logsOf(stage.gateway, stage.key, traceId, 2);
    const shown = await Promise.all(records.map(({ id }) => logOf(stage.gateway, stage.key, String(id))));
    const ids = shown.flatMap((record) => (record["spans"] as JsonObject[]).map((span) => span["span_id"]));
    expect(ids).toHaveLength(6);
    expect(new Set(ids)).toEqual(new Set(spans.map(({ spanId }) => hex(spanId))));
  });

  test("the client's own names of trace and span, with or without a traceparent", async () => {
    stage.upstream.always(chatReply("ok"));
    const named = {
      "x-gateway-trace-id": "4BF92F35-77b3-4da6-a3ce-929d0e0e4736",
      "x-gateway-span-id": "step-2",
      "x-gateway-parent-span-id": "0123456789abcdef",
      "x-gateway-span-name": "summary of the day",
    };
    const answer = await chat(stage.gateway, stage.key, { ...withConfig(here()), ...named });
    expect(answer.headers["x-gateway-trace-id"]).toBe(named["x-gateway-trace-id"]);
    const [request] = (await arrived("4bf92f3577b34da6a3ce929d0e0e4736", 2)).sort(rootFirst);
    expect([request?.name, hex(request?.parentSpanId)]).toEqual(["summary of the day", "0123456789abcdef"]);
    expect(attributesOf(request)["unigate.trace.id"]).toBe(named["x-gateway-trace-id"]);
    const [record] = await logsOf(stage.gateway, stage.key, named["x-gateway-trace-id"], 1);
    expect(record).toMatchObject({
      trace_id: named["x-gateway-trace-id"],
      span_id: "step-2",
      parent_span_id: "0123456789abcdef",
      span_name: "summary of the day",
    });
  });

  test("while the collector is down nothing changes for requests, and their spans come when it is back", async () => {
    collector.always(errorReply(503, "down"));
    stage.upstream.always(chatReply("ok"));
    const traces = Array.from({ length: 5 }, () => newTraceId());
    const [unwanted, last] = [newTraceId(), newTraceId()];
    const asked = collector.requests.length;
    for (const traceId of traces) {
      const answer = await chat(stage.gateway, stage.key, { ...withConfig(here()), traceparent: `00-${traceId}-${newSpanId()}-01` });
      expect(answer.status).toBe(200);
    }
    await chat(stage.gateway, stage.key, { ...withConfig(here()), traceparent: `00-${unwanted}-${newSpanId()}-00` });
    await until("a try", () => collector.requests.length > asked, PATIENCE_MS);
    await chat(stage.gateway, stage.key, { ...withConfig(here()), traceparent: `00-${last}-${newSpanId()}-01` });
    expect([...traces, last].flatMap((traceId) => spansOf(traceId))).toEqual([]);
    collector.always(take);
    for (const traceId of [...traces, last]) await arrived(traceId, 2);
    // Its flag says that nobody wants its spans; its log is there all the same.
    expect(spansOf(unwanted)).toEqual([]);
    const [record] = await logsOf(stage.gateway, stage.key, unwanted, 1);
    expect(record).toMatchObject({ sampled: false, status: 200 });
  });

  test("the spans of a refused request say so", async () => {
    const traceId = newTraceId();
    await send(stage.gateway, "/v1/chat/completions", {
      headers: { "x-gateway-api-key": stage.key, traceparent: `00-${traceId}-${newSpanId()}-01` },
      body: QUESTION,
    });
    const [request, ...rest] = await arrived(traceId, 1);
    expect(rest).toEqual([]);
    expect(attributesOf(request)).toMatchObject({ "http.response.status_code": 400 });
  });
});

function hex(id: Uint8Array | undefined): string {
  return Buffer.from(id ?? []).toString("hex");
}

function rootFirst(one: Span, other: Span): number {
  return Number(other.kind === SpanKind.SERVER) - Number(one.kind === SpanKind.SERVER);
}

function attributesOf(span: Span | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: AnyValue | undefined): unknown {
  const inner = value?.value;
  return inner?.$case === "arrayValue" ? inner.value.values.map((one) => valueOf(one)) : inner?.value;
}
