import type { ReplyHeaders } from "../gateway-request.ts";
import type { Run } from "./run-state.ts";
import { remainingHeaders } from "./steps/reserve.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** Set by the gateway itself on translated answers, so not taken from the upstream. */
const OWN = new Set(["content-type", "content-length", "content-encoding", "cache-control", "x-request-id"]);

/** Trace headers that every answer carries, errors too. */
export function traceHeaders(traceId: string, requestId: string): ReplyHeaders {
  return ["x-gateway-trace-id", traceId, "x-request-id", requestId];
}

/** The upstream's headers and the gateway's own (behaviour section 4). */
export function answerHeaders(run: Run, outcome: TargetOutcome): ReplyHeaders {
  const { request } = run;
  const { result, target, leaf, retryCount, cache } = outcome;
  const headers = traceHeaders(request.trace.traceId, request.requestId);
  headers.push("x-gateway-retry-attempt-count", String(retryCount), "x-gateway-last-used-option-index", leaf.optionPath);
  headers.push("x-gateway-cache-status", cache.status);
  if (target !== null) headers.push("x-gateway-provider", target.provider.id);
  const proxied = request.surface === "proxy" && result.failure === null;
  for (const { name, value } of result.headers) {
    if (name.startsWith("x-gateway-")) continue;
    // The length of one body is set where it is written.
    if (name === "content-length" && result.stream === null) continue;
    if (proxied ? name !== "x-request-id" : !OWN.has(name)) headers.push(name, value);
    else if (name === "x-request-id") headers.push("x-provider-request-id", value);
  }
  if (result.retryAfterMs !== null && !result.headers.some(({ name }) => name === "retry-after")) {
    headers.push("retry-after", String(Math.ceil(result.retryAfterMs / 1_000)));
  }
  for (const text of remainingHeaders(run)) headers.push(text);
  return headers;
}
