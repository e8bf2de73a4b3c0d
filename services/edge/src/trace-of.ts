import { startTrace, type TraceContext } from "@unigate/core";
import type { ClientHeaders } from "./client-headers.ts";

const ID = /^[\w.:/-]{1,200}$/;
const NAME = /^[\x20-\x7e]{1,128}$/;

/** Where a request stands in its trace: W3C `traceparent`, and the client's own words, which win (spec 4.0, behaviour 4). */
export function traceOf(headers: ClientHeaders, sampleRatio: number): TraceContext {
  return startTrace(
    headers["traceparent"],
    {
      traceId: fitting(headers["x-gateway-trace-id"], ID),
      spanId: fitting(headers["x-gateway-span-id"], ID),
      parentSpanId: fitting(headers["x-gateway-parent-span-id"], ID),
      spanName: fitting(headers["x-gateway-span-name"], NAME),
    },
    sampleRatio,
  );
}

/** What does not fit counts as not sent: a trace is no reason to refuse a request. */
function fitting(value: string | undefined, form: RegExp): string | undefined {
  return value !== undefined && form.test(value) ? value : undefined;
}
