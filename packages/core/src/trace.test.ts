import { describe, expect, test } from "vitest";
import { startTrace } from "./trace.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("a caller's traceparent", () => {
  test.each(["00", "01"])("is continued, flags %s kept", (flags) => {
    const trace = startTrace(`00-${TRACE}-${SPAN}-${flags}`);
    expect(trace).toMatchObject({ traceId: TRACE, parentSpanId: SPAN });
    expect(trace.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(trace.spanId).not.toBe(SPAN);
    expect(trace.traceparent).toBe(`00-${TRACE}-${trace.spanId}-${flags}`);
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
