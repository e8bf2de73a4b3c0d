import type { Empty, Settlement, SettleRequest } from "@unigate/contracts";
import { completionTokens, promptTokens } from "@unigate/core";
import { RpcError } from "@unigate/rpc";
import { StoreLostError } from "@unigate/storage";
import type { PolicyDeps } from "./deps.ts";

/**
 * Settles every item, then rejects with the first failure of the store, if any: the batch may be sent again, what is
 * settled stays settled. Absent usage means that the attempt used no tokens; absent cost, that it is unknown.
 */
export async function settle(deps: PolicyDeps, request: SettleRequest): Promise<Empty> {
  const outcomes = await Promise.allSettled(request.items.map((item) => settleOne(deps, item)));
  for (const outcome of outcomes) {
    if (outcome.status === "fulfilled") continue;
    if (outcome.reason instanceof StoreLostError) throw new RpcError("UNAVAILABLE", `The counters are lost: ${outcome.reason.message}.`);
    throw outcome.reason;
  }
  return {};
}

async function settleOne(deps: PolicyDeps, item: Settlement): Promise<void> {
  if (item.tenant === undefined) return;
  await deps.counters.settle({
    organisationId: item.tenant.organisationId,
    reservationId: item.reservationId,
    attempt: item.attempt,
    tokens: item.usage === undefined ? 0 : promptTokens(item.usage) + completionTokens(item.usage),
    costMicro: item.costMicro ?? null,
    refundRequest: item.refundRequest,
    refundTarget: item.refundTarget,
    last: item.last,
  });
}
