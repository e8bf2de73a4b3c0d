import type { status } from "@grpc/grpc-js";
import { RPC_CODES, type RpcCode, RpcError } from "../errors.ts";

/** A number as a value of grpc-js's enum, which can only be imported by loading grpc-js. */
function asStatus(code: unknown): status {
  return code as status;
}

export const OK = asStatus(0);
export const CANCELLED = asStatus(1);
export const UNIMPLEMENTED = asStatus(12);

const STATUSES: ReadonlyMap<RpcCode, status> = new Map(RPC_CODES.map((code, index) => [code, asStatus(index + 1)]));

/** How a failed call ends on the wire. */
export function statusOf(error: RpcError): { code: status; details: string } {
  return { code: STATUSES.get(error.code) ?? asStatus(2), details: error.message };
}

/** What a caller gets for the status of a failed call. */
export function errorOf(received: { code: number; details: string }): RpcError {
  return new RpcError(RPC_CODES[received.code - 1] ?? "UNKNOWN", received.details);
}
