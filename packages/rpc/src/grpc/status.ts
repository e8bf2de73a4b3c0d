import { RPC_CODES, type RpcCode, RpcError } from "../errors.ts";

export const OK = 0;
export const CANCELLED = 1;

const NUMBERS: ReadonlyMap<RpcCode, number> = new Map(RPC_CODES.map((code, index) => [code, index + 1]));

/** How a failed call ends on the wire. */
export function statusOf(error: RpcError): { code: number; details: string } {
  return { code: NUMBERS.get(error.code) ?? 2, details: error.message };
}

/** What a caller gets for the status of a failed call. */
export function errorOf(status: { code: number; details: string }): RpcError {
  return new RpcError(RPC_CODES[status.code - 1] ?? "UNKNOWN", status.details);
}
