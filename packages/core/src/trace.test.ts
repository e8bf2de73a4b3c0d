import { describe, expect, test } from "vitest";
import { startTrace, w3cSpanId, w3cTraceId } from "./trace.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("a caller's traceparent", () => {
  test.each(["00", "01"])("is continued, flags %s kept", (flags) => {
    const trace = startTrace(`00-${TRACE}-${SPAN}-${flags}`);
    expect(trace).toMatchObject({ traceId: TRACE, parentSpanId: SPAN });
    expect(trace.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(trace.spanId).not.toBe(SPAN);
    expect(trace.traceparent).toBe(`00-${TRACE}-${trace.spanId}-${flags}`);
    expect(trace.sampled).toBe(flags === "01");
    expect(startTrace(`00-${TRACE}-${SPAN}-${flags}`, {}, 0).sampled).toBe(flags === "01");
  });

  test("two requests of one trace get spans of their own", () => {
    const header = `00-${TRACE}-${SPAN}-01`;
    expect(startTrace(header).spanId).not.toBe(startTrace(header).spanId);
  });
});

test.each([
  undefined,
  "",
  "nonsense",
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-`,
  `00-${TRACE}-${SPAN}-0`,
  `00-${TRACE}-${SPAN}-0g`,
  `00-${TRACE}-${SPAN}-011`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE.slice(1)}-${SPAN}-01`,
  `00-${TRACE}0-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `ff-${TRACE}-${SPAN}-01`,
  ` 00-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01\n`,
  `00-${"a".repeat(100_000)}`,
])("%j starts a new trace", (header) => {
  const trace = startTrace(header);
  expect(trace.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(trace.traceId).not.toBe(TRACE);
  expect(trace.parentSpanId).toBe("");
  expect(trace.traceparent).toBe(`00-${trace.traceId}-${trace.spanId}-01`);
});

describe("what the client names itself", () => {
  const caller = `00-${TRACE}-${SPAN}-01`;

  test("wins, and goes on in the form of W3C", () => {
    const named = { traceId: "order/7", spanId: "step-2", parentSpanId: "step-1", spanName: "summary" };
    const trace = startTrace(caller, named);
    expect(trace).toMatchObject(named);
    expect(trace.traceparent).toBe(`00-${w3cTraceId("order/7")}-${w3cSpanId("step-2")}-01`);
  });

  test("another trace has no parent from the traceparent, the same one has", () => {
    expect(startTrace(caller, { traceId: "another" }).parentSpanId).toBe("");
    expect(startTrace(caller, { traceId: TRACE }).parentSpanId).toBe(SPAN);
    expect(startTrace(caller, { traceId: TRACE, parentSpanId: "mine" }).parentSpanId).toBe("mine");
  });

  test.each([
    [TRACE, TRACE],
    [TRACE.toUpperCase(), TRACE],
    ["4BF92F35-77b3-4da6-a3ce-929d0e0e4736", TRACE],
  ])("the trace %s is %s", (text, id) => {
    expect(w3cTraceId(text)).toBe(id);
  });

  test.each(["", "x", "0".repeat(32), TRACE.slice(1), `${TRACE.slice(1)}g`, "x".repeat(36), "é"])("%j gets an id that stays", (text) => {
    expect(w3cTraceId(text)).toMatch(/^[0-9a-f]{32}$/);
    expect(w3cTraceId(text)).not.toMatch(/^0+$/);
    expect(w3cTraceId(text)).toBe(w3cTraceId(text));
    expect(w3cSpanId(text)).toMatch(/^[0-9a-f]{16}$/);
  });
});

test("of the traces that begin here a part is sampled, all requests of one trace alike", () => {
  const sampled = (ratio: number) => Array.from({ length: 2_000 }, () => startTrace(undefined, {}, ratio).sampled).filter(Boolean).length;
  expect([sampled(1), sampled(0)]).toEqual([2_000, 0]);
  expect(Math.abs(sampled(0.25) - 500)).toBeLessThan(150);
  for (let number = 0; number < 20; number++) {
    const [one, other] = [startTrace(undefined, { traceId: `t${number}` }, 0.5), startTrace(undefined, { traceId: `t${number}` }, 0.5)];
    expect(one.sampled).toBe(other.sampled);
    expect(one.traceparent.slice(-2)).toBe(one.sampled ? "01" : "00");
  }
});
