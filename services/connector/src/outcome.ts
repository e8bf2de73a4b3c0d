import { type Blame, Blame as Blames, type Failure, type Head, type Header } from "@unigate/contracts";
import { bufferOfJson, ERRORS, type ErrorCode, errorBody, GatewayError, typeOfStatus } from "@unigate/core";
import type { ProviderError } from "@unigate/providers";

const NO_HEADERS: Header[] = [];

/** An outcome that is an error, as a head and the body for the client. */
export interface FailedOutcome {
  readonly head: Head;
  readonly body: Buffer;
}

/** An error that the gateway made: unreachable, timed out, unreadable, refused. */
export function gatewayFailure(
  code: ErrorCode,
  provider: string,
  detail: { message?: string; upstreamMs?: number; bytesSent?: boolean; blame?: Blame } = {},
): FailedOutcome {
  const error = new GatewayError(code, detail.message ?? ERRORS[code].text);
  const failure: Failure = { code, message: error.message, param: "", status: error.status, type: error.type };
  const blame = detail.blame ?? (error.status >= 500 ? Blames.NETWORK : Blames.CLIENT);
  return {
    head: {
      status: error.status,
      headers: NO_HEADERS,
      blame,
      bytesSent: detail.bytesSent ?? false,
      upstreamMs: detail.upstreamMs ?? 0,
      transformed: true,
      failure,
    },
    body: bufferOfJson({ ...errorBody(error), provider }),
  };
}

/** A provider's refusal in the gateway's envelope; OpenAI-compatible ones keep their own error object (behaviour 5). */
export function providerFailure(
  error: ProviderError,
  provider: string,
  answer: { headers: Header[]; retryAfterMs: number | null; upstreamMs: number },
): FailedOutcome {
  const failure = failureOf(error);
  const envelope =
    error.raw === undefined
      ? errorBody({ message: error.message, type: error.type, param: error.param, code: error.code })
      : { error: error.raw };
  const retryAfterMs = answer.retryAfterMs ?? error.retryAfterMs ?? null;
  return {
    head: {
      status: error.status,
      headers: answer.headers,
      blame: error.status >= 500 ? Blames.UPSTREAM : Blames.CLIENT,
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
      bytesSent: true,
      upstreamMs: answer.upstreamMs,
      transformed: true,
      failure,
    },
    body: bufferOfJson({ ...envelope, provider }),
  };
}

/** The same as a value for logs and in-band events. */
export function failureOf(error: ProviderError): Failure {
  return {
    code: error.code ?? "",
    message: error.message,
    param: error.param ?? "",
    status: error.status,
    type: error.type === "" ? typeOfStatus(error.status) : error.type,
  };
}
