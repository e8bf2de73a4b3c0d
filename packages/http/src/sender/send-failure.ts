import { errors } from "undici";

/**
 * - `refused_address`: the egress guard refused the URL or what its name resolves to.
 * - `unreachable`: no connection: refused, no such name, certificate not valid.
 * - `connect_timeout`: no connection in time, waiting for a free one included.
 * - `headers_timeout`: the request was written, no answer began in time.
 * - `cancelled`: the call was cancelled, or the caller gave the exchange up; `cause` is the reason.
 * - `reset`: the connection broke before the answer was whole: before its head, inside its body, or short of its length.
 * - `unreadable`: the answer is not HTTP, its head is too large, or the reader of the body threw (`cause` is what it threw).
 * - `too_large`: the body passed the bound given to `readAll`.
 * - `invalid_request`: a header, path or length that cannot be sent. Nothing was sent.
 * - `request_body`: the source of the request body threw.
 */
export type SendFailureCode =
  | "refused_address"
  | "unreachable"
  | "connect_timeout"
  | "headers_timeout"
  | "cancelled"
  | "reset"
  | "unreadable"
  | "too_large"
  | "invalid_request"
  | "request_body";

/** Why there is no answer, or no whole one. */
export interface SendFailure {
  readonly kind: "failed";
  readonly code: SendFailureCode;
  /** Whether any byte of the request may have left: false means that it is safe to send it again. */
  readonly bytesSent: boolean;
  /** For logs, never for clients: may name addresses. */
  readonly cause: unknown;
}

/** A failed exchange as an Error: what the `body` iterator throws. */
export class SendError extends Error {
  override readonly name = "SendError";
  readonly failure: SendFailure;

  constructor(failure: SendFailure) {
    super(`The upstream exchange failed: ${failure.code}`, { cause: failure.cause });
    this.failure = failure;
  }
}

/** The source of a request body threw. */
export class RequestBodyError extends Error {
  override readonly name = "RequestBodyError";
}

export function failed(code: SendFailureCode, bytesSent: boolean, cause: unknown): SendFailure {
  return { kind: "failed", code, bytesSent, cause };
}

/** The code for an error of undici or of the socket. `connected`: the request had a connection to go out on. */
export function failureCode(error: unknown, connected: boolean): SendFailureCode {
  if (error instanceof RequestBodyError) return "request_body";
  const code = codeOf(error);
  switch (code) {
    case "EGRESS_REFUSED":
      return "refused_address";
    case "UND_ERR_INVALID_ARG":
    case "UND_ERR_NOT_SUPPORTED":
    case "UND_ERR_REQ_CONTENT_LENGTH_MISMATCH":
      return "invalid_request";
    case "UND_ERR_SOCKET":
    case "UND_ERR_RES_CONTENT_LENGTH_MISMATCH":
      return connected ? "reset" : "unreachable";
    default:
      if (!connected) return code === "ETIMEDOUT" ? "connect_timeout" : "unreachable";
      return SOCKET_ERROR.test(code) || isCut(error) ? "reset" : "unreadable";
  }
}

/** An error of the operating system or of TLS; what is left are parser errors and errors thrown by a reader. */
const SOCKET_ERROR = /^(?:E[A-Z0-9]+$|ERR_SSL|ERR_TLS)/;

/** A chunked body of a connection that the answer closes ended before its last chunk: undici gives this one no code. */
function isCut(error: unknown): boolean {
  return error instanceof errors.HTTPParserError && error.message.includes("Invalid EOF state");
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : "";
}
