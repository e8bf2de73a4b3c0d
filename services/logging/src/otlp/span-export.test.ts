import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ExportTraceServiceRequest, ExportTraceServiceResponse } from "@unigate/contracts";
import { newUuid, Secret } from "@unigate/core";
import { type LogHead, newHead } from "@unigate/events";
import { createEgressGuard, createSender } from "@unigate/http";
import { errorReply, hangReply, jsonReply, startUpstream, type Upstream, until } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createLogStore } from "../memory/memory-log-store.ts";
import { createSpanExport, type SpanExport, type SpanExportLimits, withSpanExport } from "./span-export.ts";

const OK = jsonReply({});
const QUICK = { delayMs: 5, backoffMs: 5, maxBackoffMs: 20, timeoutMs: 2_000, stopMs: 300 };

let collector: Upstream;
let sender: ReturnType<typeof createSender>;
let spans: SpanExport;
let lines: string[];
let dropped: number;

beforeEach(async () => {
  collector = await startUpstream();
  sender = createSender({ guard: createEgressGuard({ allow: "" }) });
  lines = [];
  dropped = 0;
});
afterEach(async () => {
  await spans.stop();
  sender.close();
  await collector.close();
});

function open(limits: Partial<SpanExportLimits> = {}, endpoint = collector.origin): void {
  const note = (level: string) => (fields: object, text: string) => void lines.push(`${level} ${text} ${JSON.stringify(fields)}`);
  spans = createSpanExport({
    endpoint,
    headers: { authorization: new Secret("Bearer key") },
    sender,
    log: { info: note("info"), warn: note("warn") } as Parameters<typeof createSpanExport>[0]["log"],
    random: () => 0,
    onDrop: (count) => void (dropped += count),
    limits: { ...QUICK, ...limits },
  });
}

function record(more: Partial<LogHead> = {}): { head: LogHead } {
  return { head: { ...newHead(newUuid(), Date.now()), trace_id: "t", request_id: "r", last: true, sampled: true, ...more } };
}
const records = (count: number): { head: LogHead }[] => Array.from({ length: count }, (_, index) => record({ span_name: `span ${index}` }));

/** Names of the spans that the collector took, in their order. */
function taken(upstream: Upstream = collector): string[] {
  return upstream.requests
    .filter(({ answered }) => answered)
    .flatMap(({ body }) => ExportTraceServiceRequest.decode(body).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans.map(({ name }) => name)));
}
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `span ${index}`);

test("spans go to /v1/traces as protobuf with the operator's headers; those that are not sampled go nowhere", async () => {
  collector.always(OK);
  open({}, `${collector.origin}/base`);
  await spans.take([record({ span_name: "span 0" }), record({ sampled: false, span_name: "unwanted" }), record({ span_name: "span 1" })]);
  expect(spans.waiting()).toBe(2);
  await until("the spans", () => spans.waiting() === 0);
  expect(taken()).toEqual(names(2));
  expect(collector.requests).toMatchObject([
    {
      method: "POST",
      url: "/base/v1/traces",
      headers: { "content-type": "application/x-protobuf", authorization: "Bearer key", "user-agent": "unigate" },
    },
  ]);
});

test("a request is bounded by records and by bytes, and the order stays", async () => {
  collector.always(OK);
  open({ batchRecords: 10, batchBytes: 2_000 });
  await spans.take(records(50));
  await until("all spans", () => spans.waiting() === 0);
  expect(taken()).toEqual(names(50));
  expect(collector.requests.length).toBeGreaterThanOrEqual(5);
  for (const { bodyBytes } of collector.requests) expect(bodyBytes).toBeLessThanOrEqual(2_000);
});

describe("a collector in trouble", () => {
  test.each([429, 502, 503, 504])("that answers %i gets the same spans later, and is told of once", async (status) => {
    collector.script(errorReply(status, "no"), errorReply(status, "no"), OK);
    open();
    await spans.take(records(3));
    await until("the spans", () => spans.waiting() === 0);
    expect(collector.requests.map(({ body }) => body.toString("hex"))).toEqual(
      Array.from({ length: 3 }, () => collector.requests[0]?.body.toString("hex")),
    );
    expect(dropped).toBe(0);
    expect(lines).toEqual([
      `warn the collector does not take spans; they wait {"why":"${status}"}`,
      "info the collector takes spans again {}",
    ]);
  });

  test("that names a wait gets it", async () => {
    collector.script(errorReply(503, "busy", { "retry-after-ms": "150" }), OK);
    open({ maxBackoffMs: 1_000 });
    const begun = performance.now();
    await spans.take(records(1));
    await until("the spans", () => spans.waiting() === 0);
    expect(performance.now() - begun).toBeGreaterThan(140);
  });

  test.each([400, 401, 404, 500])("that answers %i gets them no more", async (status) => {
    collector.script(errorReply(status, "no"));
    collector.always(OK);
    open();
    await spans.take([...records(2)]);
    await until("the end", () => spans.waiting() === 0);
    expect([dropped, collector.requests.length]).toEqual([2, 1]);
    expect(lines).toEqual([`warn the collector refuses spans; they are dropped {"spans":2,"why":"${status}"}`]);
  });

  test("that takes only a part says how many are lost", async () => {
    const answer = ExportTraceServiceResponse.encode({ partialSuccess: { rejectedSpans: 2, errorMessage: "too old" } }).finish();
    collector.script({ ...OK, pieces: [Buffer.from(answer)], headers: { "content-type": "application/x-protobuf" } });
    open();
    await spans.take(records(5));
    await until("the end", () => spans.waiting() === 0);
    expect(dropped).toBe(2);
  });

  test("that is not there gets everything once it is", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    open({}, `http://127.0.0.1:${port}`);
    await spans.take(records(3));
    await until("a warning", () => lines.some((line) => line.includes("unreachable")));
    await spans.take([record({ span_name: "span 3" })]);
    const seen: Buffer[] = [];
    server.on("request", (request, response) => {
      request.on("data", (chunk: Buffer) => seen.push(chunk)).on("end", () => response.end());
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    await until("all spans", () => spans.waiting() === 0);
    const { resourceSpans } = ExportTraceServiceRequest.decode(Buffer.concat(seen));
    expect(resourceSpans.map(({ scopeSpans }) => scopeSpans[0]?.spans[0]?.name)).toEqual(names(4));
    expect(dropped).toBe(0);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("that hangs holds up nobody: what is too much is dropped and counted", async () => {
    collector.always(hangReply());
    open({ queueBytes: 3_000 });
    await spans.take(records(100));
    const waiting = spans.waiting();
    expect(waiting).toBeGreaterThan(5);
    expect(waiting + dropped).toBe(100);
  });
});

describe("at the end of the process", () => {
  test("what waits is sent", async () => {
    collector.always(OK);
    open({ delayMs: 60_000 });
    await spans.take(records(2));
    await spans.stop();
    expect(taken()).toEqual(names(2));
    expect(dropped).toBe(0);
  });

  test.each([
    ["fails", errorReply(503, "no")],
    ["hangs", hangReply()],
  ])("a collector that %s holds it up for a moment only, and the loss is counted", async (_case, reply) => {
    collector.always(reply);
    open({ backoffMs: 60_000, maxBackoffMs: 60_000 });
    await spans.take(records(3));
    await collector.request(0);
    const begun = performance.now();
    await spans.stop();
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect([dropped, spans.waiting()]).toEqual([3, 0]);
    await spans.take(records(1));
    expect(dropped).toBe(4);
  });
});

test("a store exports what it kept, and nothing that it could not keep", async () => {
  collector.always(OK);
  open();
  const bytes = Buffer.from("{}");
  const given = records(2).map(({ head }) => ({ head, bytes, headEnd: 1 }));
  const broken = { ...createLogStore(), add: () => Promise.reject(new Error("no disk")) };
  await expect(withSpanExport(broken, spans).add(given)).rejects.toThrow("no disk");
  expect(spans.waiting()).toBe(0);
  expect(await withSpanExport(createLogStore(), spans).add(given)).toMatchObject({ stored: 2 });
  await until("the spans", () => spans.waiting() === 0);
  expect(taken()).toEqual(names(2));
});
