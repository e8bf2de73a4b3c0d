import { isRpcError, type RpcError, toRpcError } from "./errors.ts";

/** Called with what a handler threw when it was no RpcError; `method` is "Cache.Lookup". The caller never sees it. */
export type OnFault = (error: unknown, method: string) => void;

/** What the caller gets for a thing that a handler of `method` threw; reports it when it was no RpcError. */
export function failureOf(reason: unknown, method: string, onFault: OnFault | undefined): RpcError {
  if (onFault !== undefined && !isRpcError(reason)) onFault(reason, method);
  return toRpcError(reason);
}
