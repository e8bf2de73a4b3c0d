import { newSpanId, newTraceId } from "./ids.ts";

/** Where a request stands in a trace. */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty when this is the first span. */
  readonly parentSpanId: string;
  /** W3C header for calls made from this span. */
  readonly traceparent: string;
}

const PATTERN = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const ZERO_TRACE = "0".repeat(32);
const ZERO_SPAN = "0".repeat(16);

/** A new span below the caller's `traceparent`, or a new trace when there is none or it is malformed. */
export function startTrace(traceparent: string | undefined): TraceContext {
  const spanId = newSpanId();
  const match = traceparent === undefined ? null : PATTERN.exec(traceparent);
  const [, traceId = "", parent = "", flags = "01"] = match ?? [];
  if (match === null || traceId === ZERO_TRACE || parent === ZERO_SPAN) {
    const fresh = newTraceId();
    return { traceId: fresh, spanId, parentSpanId: "", traceparent: `00-${fresh}-${spanId}-01` };
  }
  return { traceId, spanId, parentSpanId: parent, traceparent: `00-${traceId}-${spanId}-${flags}` };
}
