import { type AnyValue, ExportTraceServiceRequest, type KeyValue, type Span as OtlpSpan, SpanKind, StatusCode } from "@unigate/contracts";
import { type AttributeValue, FRACTIONS, type Span } from "./span.ts";

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;
const RESOURCE = { attributes: [keyValue("service.name", "unigate")] };
const SCOPE = { name: "unigate" };
const NO_PARENT = Buffer.alloc(0);
/** Flags of OTLP: sampled; and for the first span of the gateway whether its parent is elsewhere. */
const SAMPLED = 1;
const LOCAL_PARENT = 0x100;
const REMOTE_PARENT = 0x300;

/** Spans as OTLP protobuf. Several of these, one after the other, are one such message. */
export function encodeSpans(spans: readonly Span[]): Buffer {
  const request = { resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ scope: SCOPE, spans: spans.map(otlpSpan) }] }] };
  const bytes = ExportTraceServiceRequest.encode(request).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function otlpSpan(span: Span): OtlpSpan {
  const attributes: KeyValue[] = [];
  for (const name in span.attributes) attributes.push(keyValue(name, span.attributes[name] ?? ""));
  const { error } = span;
  return {
    traceId: Buffer.from(span.traceId, "hex"),
    spanId: Buffer.from(span.spanId, "hex"),
    parentSpanId: span.parentSpanId === "" ? NO_PARENT : Buffer.from(span.parentSpanId, "hex"),
    name: span.name,
    kind: KINDS[span.kind],
    startTimeUnixNano: nanoseconds(span.start),
    endTimeUnixNano: nanoseconds(span.end),
    attributes,
    status: error === null ? undefined : { code: StatusCode.ERROR, message: error },
    flags: SAMPLED | (span.kind === "server" ? REMOTE_PARENT : LOCAL_PARENT),
  };
}

function keyValue(key: string, value: AttributeValue): KeyValue {
  return { key, value: anyValue(key, value) };
}

function anyValue(key: string, value: AttributeValue): AnyValue {
  if (typeof value === "string") return { value: { $case: "stringValue", value } };
  if (typeof value === "boolean") return { value: { $case: "boolValue", value } };
  if (typeof value !== "number") return { value: { $case: "arrayValue", value: { values: value.map((one) => anyValue(key, one)) } } };
  const isWhole = Number.isSafeInteger(value) && !FRACTIONS.has(key);
  return { value: isWhole ? { $case: "intValue", value } : { $case: "doubleValue", value } };
}

/** Of whole milliseconds; beyond them a number cannot be exact. */
function nanoseconds(ms: number): string {
  return ms > 0 ? `${Math.round(ms)}000000` : "0";
}
