import { errorBody, type GatewayError } from "@unigate/core";
import { traceHeaders } from "../pipeline/answer-headers.ts";
import { LimitRefusal } from "../pipeline/limit-refusal.ts";

/** The answer to a refusal: status, flat headers and the envelope of DESIGN section 1. */
export function errorReply(error: GatewayError, traceId: string, requestId: string): { status: number; headers: string[]; body: Buffer } {
  const headers = traceHeaders(traceId, requestId);
  headers.push("content-type", "application/json");
  if (error.retryAfterMs !== null) headers.push("retry-after", String(Math.max(1, Math.ceil(error.retryAfterMs / 1_000))));
  if (error instanceof LimitRefusal) headers.push(...error.headers);
  if (error.code === "internal") headers.push("x-gateway-gateway-exception", "true");
  return { status: error.status, headers, body: Buffer.from(JSON.stringify(errorBody(error))) };
}
