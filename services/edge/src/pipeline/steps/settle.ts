import type { Usage } from "@unigate/contracts";
import type { Run } from "../run-state.ts";

/** A target tried to its end, as its limits see it. */
interface Tried {
  readonly attempt: number;
  /** Whether the provider was called; else its limits get back what was taken. */
  readonly called: boolean;
}

/** What it used, and what that costs in micro-USD; null = nothing is known. */
export interface Used {
  readonly usage: Usage | null;
  readonly costMicro: number | null;
}

/**
 * Tells policy what a target really used, in a batch and off the request's path. Once a target; nothing is told of a
 * request that no limit counts.
 */
export function settle(run: Run, tried: Tried, { usage, costMicro }: Used, last: boolean): void {
  if (!run.limits.isReserved) return;
  const { deps, request } = run;
  const { tenant } = request.principal;
  deps.settlements.add({
    reservationId: request.requestId,
    tenant,
    attempt: tried.attempt,
    usage: usage ?? undefined,
    costMicro: costMicro ?? undefined,
    refundRequest: false,
    refundTarget: !tried.called,
    last,
  });
  if (!last) return;
  run.limits.isReserved = false;
  deps.leases.end(tenant.organisationId, request.requestId);
}
