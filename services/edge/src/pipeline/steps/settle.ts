import type { Usage } from "@unigate/contracts";
import type { TargetOutcome } from "../attempts.ts";
import type { Run } from "../run-state.ts";

/** Tells policy what was really used, in a batch and off the request's path. Always called, once an attempt. */
export function settle(run: Run, outcome: TargetOutcome, usage: Usage | null): void {
  run.deps.settlements.add({
    reservationId: run.request.requestId,
    tenant: run.request.principal.tenant,
    attempt: outcome.attempt,
    usage: usage ?? undefined,
    refundRequest: false,
    refundTarget: outcome.cache.hit !== null,
    last: true,
  });
}
