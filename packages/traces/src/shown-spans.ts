import type { LogHead } from "@unigate/events";
import type { Span } from "./span.ts";
import { spansOf } from "./spans-of.ts";

/** A span as the API shows it; times are Unix ms. */
export interface ShownSpan {
  readonly trace_id: string;
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly name: string;
  readonly kind: Span["kind"];
  readonly start_time: number;
  readonly end_time: number;
  readonly status: "ok" | "error";
  readonly attributes: Span["attributes"];
}

/** The spans of a record, made anew: they are not stored. */
export function shownSpans(head: LogHead): ShownSpan[] {
  return spansOf(head).map((span) => ({
    trace_id: span.traceId,
    span_id: span.spanId,
    parent_span_id: span.parentSpanId === "" ? null : span.parentSpanId,
    name: span.name,
    kind: span.kind,
    start_time: span.start,
    end_time: span.end,
    status: span.error === null ? "ok" : "error",
    attributes: span.attributes,
  }));
}
