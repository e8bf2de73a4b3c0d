import type { Call } from "@unigate/core";
import { cancelledError, type RpcError } from "./errors.ts";

/** Why a call must not even begin: it is cancelled, or its deadline has passed. Null when it may. */
export function refusal(call: Call): RpcError | null {
  if (call.cancel.reason !== null) return cancelledError(call.cancel.reason);
  return call.deadline <= Date.now() ? cancelledError("deadline") : null;
}
