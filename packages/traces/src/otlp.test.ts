import { type AnyValue, ExportTraceServiceRequest, SpanKind, StatusCode } from "@unigate/contracts";
import { expect, test } from "vitest";
import { encodeSpans } from "./otlp.ts";
import type { Span } from "./span.ts";

const SPAN: Span = {
  traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
  spanId: "00f067aa0ba902b7",
  parentSpanId: "",
  name: "chat m",
  kind: "client",
  start: 1_700_000_000_123,
  end: 1_700_000_000_456,
  attributes: { text: "é", yes: true, count: 3, "gen_ai.usage.cost": 2, list: ["a", "b"], large: 1e300 },
  error: "why",
};

function plain(value: AnyValue | undefined): unknown {
  const inner = value?.value;
  return inner?.$case === "arrayValue" ? inner.value.values.map((one) => plain(one)) : [inner?.$case, inner?.value];
}

test("spans come back from their bytes, and messages one after the other are one", () => {
  const other: Span = { ...SPAN, spanId: "1111111111111111", parentSpanId: SPAN.spanId, kind: "server", error: null };
  const { resourceSpans } = ExportTraceServiceRequest.decode(Buffer.concat([encodeSpans([SPAN]), encodeSpans([other])]));
  expect(resourceSpans).toHaveLength(2);
  const [first, second] = resourceSpans.map(({ scopeSpans }) => scopeSpans[0]?.spans[0]);
  expect(plain(resourceSpans[0]?.resource?.attributes[0]?.value)).toEqual(["stringValue", "unigate"]);
  expect(first).toMatchObject({
    name: "chat m",
    kind: SpanKind.CLIENT,
    startTimeUnixNano: "1700000000123000000",
    endTimeUnixNano: "1700000000456000000",
    status: { code: StatusCode.ERROR, message: "why" },
    flags: 0x101,
  });
  expect(first?.traceId.toString("hex")).toBe(SPAN.traceId);
  expect([first?.parentSpanId.length, second?.parentSpanId.toString("hex")]).toEqual([0, SPAN.spanId]);
  expect(second).toMatchObject({ kind: SpanKind.SERVER, status: undefined, flags: 0x301 });
  expect(Object.fromEntries(first?.attributes.map(({ key, value }) => [key, plain(value)]) ?? [])).toEqual({
    text: ["stringValue", "é"],
    yes: ["boolValue", true],
    count: ["intValue", 3],
    "gen_ai.usage.cost": ["doubleValue", 2],
    list: [
      ["stringValue", "a"],
      ["stringValue", "b"],
    ],
    large: ["doubleValue", 1e300],
  });
});
