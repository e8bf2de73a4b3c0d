import type { InvokeRequest } from "@unigate/contracts";
import { type Call, type ErrorCode, GatewayError, sleep } from "@unigate/core";
import type { Exchange, SendFailure } from "@unigate/http";
import type { LocalAnswer } from "@unigate/providers";
import type { ConnectorDeps } from "./deps.ts";
import { localExchange } from "./local-exchange.ts";
import { type FailedOutcome, gatewayFailure } from "./outcome.ts";
import type { Prepared } from "./prepare.ts";

const DEFAULT_CONNECT_MS = 10_000;

/** Sends what was prepared. A provider without a network answers by itself. */
export async function sendPrepared(
  deps: ConnectorDeps,
  invoke: InvokeRequest,
  prepared: Prepared,
  body: Buffer | AsyncIterable<Buffer> | null,
  call: Call,
): Promise<Exchange | FailedOutcome> {
  const { request, provider, destination } = prepared;
  if (provider.local !== undefined)
    return sendLocal(provider.local(request, prepared.surface === null ? "proxy" : "chat"), invoke, provider.id, call);
  const answer = await deps.sender.send(
    {
      method: request.method,
      url: destination,
      headers: request.headers,
      body,
      connectTimeoutMs: invoke.timeouts?.connectMs ?? DEFAULT_CONNECT_MS,
      headersTimeoutMs: invoke.timeouts?.headersMs ?? 0,
      trusted: destination.trusted,
    },
    call,
  );
  return answer.kind === "exchange" ? answer : failureOutcome(answer, invoke, provider.id, call);
}

/** The outcome for the client of an exchange that failed; its cause is never shown. */
export function failureOutcome(failure: SendFailure, invoke: InvokeRequest, provider: string, call: Call): FailedOutcome {
  const detail = { bytesSent: failure.bytesSent };
  if (failure.code === "headers_timeout") {
    const ms = invoke.timeouts?.headersMs ?? 0;
    return gatewayFailure("request_timeout", provider, { ...detail, message: `Request exceeded the timeout sent in the request: ${ms}ms` });
  }
  if (failure.code === "cancelled")
    return gatewayFailure(call.cancel.reason === "deadline" ? "upstream_timeout" : "client_closed", provider, detail);
  return gatewayFailure(CODES[failure.code], provider, detail);
}

const CODES: Readonly<Record<Exclude<SendFailure["code"], "headers_timeout" | "cancelled">, ErrorCode>> = {
  refused_address: "invalid_custom_host",
  unreachable: "upstream_unreachable",
  connect_timeout: "upstream_connect_timeout",
  reset: "upstream_unreachable",
  unreadable: "upstream_invalid",
  too_large: "upstream_invalid",
  invalid_request: "invalid_header",
  request_body: "client_closed",
};

async function sendLocal(answer: LocalAnswer, invoke: InvokeRequest, provider: string, call: Call): Promise<Exchange | FailedOutcome> {
  const timeout = invoke.timeouts?.headersMs ?? 0;
  const delay = answer.delayMs ?? 0;
  const waited = delay === 0 || (await sleep(timeout > 0 ? Math.min(delay, timeout) : delay, call.cancel));
  if (!waited) return failureOutcome({ kind: "failed", code: "cancelled", bytesSent: false, cause: null }, invoke, provider, call);
  if (timeout > 0 && delay > timeout)
    return failureOutcome({ kind: "failed", code: "headers_timeout", bytesSent: true, cause: null }, invoke, provider, call);
  return localExchange(answer, delay, call);
}

/** Whether what came back is no answer. */
export function isFailed(answer: Exchange | FailedOutcome): answer is FailedOutcome {
  return !("kind" in answer);
}

/** An error of preparing as an outcome of this attempt; anything unexpected is thrown on. */
export function refusalOutcome(error: unknown, provider: string): FailedOutcome {
  if (!(error instanceof GatewayError)) throw error;
  return gatewayFailure(error.code, provider, { message: error.message });
}
