import { createHash } from "node:crypto";
import { newSpanId, newTraceId } from "./ids.ts";

/** Where a request stands in a trace. */
export interface TraceContext {
  /** 32 hex digits, or what the client calls it. */
  readonly traceId: string;
  /** 16 hex digits, or what the client calls it. */
  readonly spanId: string;
  /** Empty when this is the first span. */
  readonly parentSpanId: string;
  /** What the client calls the span; empty = nothing. */
  readonly spanName: string;
  /** The spans of this request are wanted by whoever collects them. */
  readonly sampled: boolean;
  /** W3C header for calls made from this span. */
  readonly traceparent: string;
}

/** What a client says of its trace in words of its own (spec 4.0). Absent = nothing said. */
export interface NamedTrace {
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  readonly parentSpanId?: string | undefined;
  readonly spanName?: string | undefined;
}

const PATTERN = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const ZERO_TRACE = "0".repeat(32);
const ZERO_SPAN = "0".repeat(16);
const SAMPLED = 1;

/**
 * A new span below the caller's `traceparent`, or a new trace when there is none or it is malformed. What the client
 * names itself wins. The caller's flag says whether it is sampled; of traces that begin here the part `sampleRatio`
 * (0 to 1) is, the same for all requests of one trace.
 */
export function startTrace(traceparent: string | undefined, named: NamedTrace = {}, sampleRatio = 1): TraceContext {
  const match = traceparent === undefined ? null : PATTERN.exec(traceparent);
  const [, callersTrace = ZERO_TRACE, callersSpan = ZERO_SPAN, callersFlags = ""] = match ?? [];
  const isContinued = callersTrace !== ZERO_TRACE && callersSpan !== ZERO_SPAN;
  const traceId = named.traceId ?? (isContinued ? callersTrace : newTraceId());
  const spanId = named.spanId ?? newSpanId();
  const w3cTrace = named.traceId === undefined ? traceId : w3cTraceId(traceId);
  const w3cSpan = named.spanId === undefined ? spanId : w3cSpanId(spanId);
  const flags = isContinued ? callersFlags : isDrawn(w3cTrace, sampleRatio) ? "01" : "00";
  return {
    traceId,
    spanId,
    // A span of another trace is no parent.
    parentSpanId: named.parentSpanId ?? (isContinued && w3cTrace === callersTrace ? callersSpan : ""),
    spanName: named.spanName ?? "",
    sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED,
    traceparent: `00-${w3cTrace}-${w3cSpan}-${flags}`,
  };
}

/** The W3C trace id of a trace: itself, a UUID without its hyphens, else 32 digits of a hash. Always the same for one text. */
export function w3cTraceId(traceId: string): string {
  const digits = traceId.length === 36 ? traceId.replaceAll("-", "") : traceId;
  return w3cId(digits.toLowerCase(), 32, traceId);
}

/** The W3C span id of a span: itself, else 16 digits of a hash. */
export function w3cSpanId(spanId: string): string {
  return w3cId(spanId.toLowerCase(), 16, spanId);
}

function w3cId(candidate: string, length: number, text: string): string {
  if (candidate.length === length && /^[0-9a-f]+$/.test(candidate) && !/^0+$/.test(candidate)) return candidate;
  return createHash("sha256").update(text).digest("hex").slice(0, length);
}

/** By the end of the id, which is random in every version of it. */
function isDrawn(w3cTrace: string, ratio: number): boolean {
  return ratio >= 1 || Number.parseInt(w3cTrace.slice(-8), 16) < ratio * 2 ** 32;
}
