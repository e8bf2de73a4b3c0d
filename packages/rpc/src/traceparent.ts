import { backgroundCall } from "@unigate/core";

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** What a call without a trace says. */
const NO_TRACE = backgroundCall().traceId;

export function isTraceparent(text: string): boolean {
  return TRACEPARENT.test(text);
}

/** The trace id in a W3C traceparent; zeros when it is none. */
export function traceIdOf(traceparent: string): string {
  return TRACEPARENT.exec(traceparent)?.[1] ?? NO_TRACE;
}
