import type { Run } from "../run-state.ts";
import type { TargetOutcome } from "../target-outcome.ts";

/** Tells policy what was really used by all targets together, in a batch and off the request's path. Always called, once. */
export function settle(run: Run, outcome: TargetOutcome): void {
  run.deps.settlements.add({
    reservationId: run.request.requestId,
    tenant: run.request.principal.tenant,
    attempt: 0,
    usage: run.usage ?? undefined,
    costMicro: run.costMicro ?? undefined,
    refundRequest: false,
    refundTarget: outcome.cache.hit !== null,
    last: true,
  });
}
