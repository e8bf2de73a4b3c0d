import { expect, test } from "vitest";
import { traceOf } from "./trace-of.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const NAMED = {
  "x-gateway-trace-id": "order/7",
  "x-gateway-span-id": "step-2",
  "x-gateway-parent-span-id": "step-1",
  "x-gateway-span-name": "summary of the day",
};

test("the tracing headers are the client's own words", () => {
  expect(traceOf({ ...NAMED, traceparent: `00-${TRACE}-${SPAN}-00` }, 1)).toMatchObject({
    traceId: "order/7",
    spanId: "step-2",
    parentSpanId: "step-1",
    spanName: "summary of the day",
    sampled: false,
  });
});

test.each(["", "a b", "x".repeat(201), "é", "a\u0000", '"'])("%j as an id counts as not sent", (id) => {
  const trace = traceOf({ "x-gateway-trace-id": id, "x-gateway-span-id": id, "x-gateway-parent-span-id": id }, 1);
  expect(trace.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(trace.spanId).toMatch(/^[0-9a-f]{16}$/);
  expect([trace.parentSpanId, trace.spanName]).toEqual(["", ""]);
});

test("a trace that begins here is sampled by the setting, one of the caller's by its flag", () => {
  expect([traceOf({}, 1).sampled, traceOf({}, 0).sampled]).toEqual([true, false]);
  expect(traceOf({ traceparent: `00-${TRACE}-${SPAN}-01` }, 0)).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, sampled: true });
});
