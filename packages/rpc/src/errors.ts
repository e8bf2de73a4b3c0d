import type { CancelReason } from "@unigate/core";

/** The gRPC status codes of a failure, in the order of their numbers: the first is 1. */
export const RPC_CODES = [
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

export type RpcCode = (typeof RPC_CODES)[number];

/** Longer texts do not fit into the trailers of a call. */
const MAX_MESSAGE_CHARACTERS = 1_000;

/** All that a peer learns of a thrown thing that is not an RpcError. */
const FAULT_TEXT = "The service failed; its log says why.";

/**
 * A fault of the mesh. Outcomes that a caller is to expect are values in replies, never this. Code and message reach
 * the caller, the cause stays in the process where it arose.
 */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: RpcCode;

  constructor(code: RpcCode, message: string, cause?: unknown) {
    super(sendable(message), cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export function isRpcError(reason: unknown): reason is RpcError {
  return reason instanceof RpcError;
}

/** Any thrown thing as an RpcError: INTERNAL with a fixed text and the thing as its cause, unless it is one already. */
export function toRpcError(reason: unknown): RpcError {
  return isRpcError(reason) ? reason : new RpcError("INTERNAL", FAULT_TEXT, reason);
}

/** What the two sides of a call see when it was given up for `reason`. */
export function cancelledError(reason: CancelReason): RpcError {
  return reason === "deadline"
    ? new RpcError("DEADLINE_EXCEEDED", "The call's deadline is over.")
    : new RpcError("CANCELLED", `The call was cancelled: ${reason}.`);
}

/** Half of a surrogate pair cannot be percent-encoded for the trailers; it becomes the replacement character. */
function sendable(message: string): string {
  const short = message.length > MAX_MESSAGE_CHARACTERS ? `${message.slice(0, MAX_MESSAGE_CHARACTERS)}...` : message;
  return Buffer.from(short, "utf8").toString("utf8");
}
