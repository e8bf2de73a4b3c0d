import type { RenewReply, RenewRequest } from "@unigate/contracts";
import { RpcError } from "@unigate/rpc";
import { StoreLostError } from "@unigate/storage";
import type { PolicyDeps } from "./deps.ts";
import { leaseOf } from "./lease.ts";

const MAX_IDS = 10_000;

/** Keeps the reservations of requests that still run. UNAVAILABLE when the store is lost: it may be asked again. */
export async function renew(deps: PolicyDeps, request: RenewRequest): Promise<RenewReply> {
  const { organisationId, reservationIds } = request;
  if (organisationId === "") throw new RpcError("INVALID_ARGUMENT", "Renew needs an organisation.");
  if (reservationIds.length > MAX_IDS) throw new RpcError("INVALID_ARGUMENT", `Renew takes at most ${MAX_IDS} reservations a call.`);
  if (reservationIds.length === 0) return { lost: [] };
  try {
    return { lost: [...(await deps.counters.renew({ organisationId, reservationIds, leaseMs: leaseOf(request.leaseMs) }))] };
  } catch (cause) {
    if (cause instanceof StoreLostError) throw new RpcError("UNAVAILABLE", `The counters are lost: ${cause.message}.`);
    throw cause;
  }
}
