import type { PlanLeaf } from "@unigate/core";
import type { Run } from "../run-state.ts";
import type { TargetOutcome } from "../target-outcome.ts";

/**
 * Tells the router how a target did, if what it plans depends on it; off the request's path. Gives the outcome back.
 */
export function reportOutcome(run: Run, planned: PlanLeaf, outcome: TargetOutcome): TargetOutcome {
  const { needsRouter, isMeasured } = run.config.compiled;
  if (!needsRouter) return outcome;
  // A stream is under way until its last byte.
  if (outcome.result.stream === null) endTarget(run);
  if (outcome.leaf.breaker === null && !isMeasured) return outcome;
  const place = run.probes.indexOf(planned);
  if (place >= 0) run.probes.splice(place, 1);
  if (outcome.called || planned.probeToken !== "") tell(run, planned, outcome);
  return outcome;
}

/** Counts a target as under way, where that decides; trying it ends the one before. */
export function beginTarget(run: Run, { optionPath }: PlanLeaf): void {
  const { compiled, id, hash } = run.config;
  if (!compiled.isMeasured) return;
  endTarget(run);
  const { tenant } = run.request.principal;
  run.endTarget = run.deps.underWay.begin({ tenant, configId: id, configHash: hash, optionPath });
}

/** The last byte of a target has come, or it never will. */
export function endTarget(run: Run): void {
  run.endTarget?.();
  run.endTarget = null;
}

/** Gives back the probes of targets that the request did not come to. Once, when it will try no more. */
export function releaseProbes(run: Run): void {
  for (const planned of run.probes.splice(0)) tell(run, planned, null);
}

function tell(run: Run, { optionPath, probeToken }: PlanLeaf, outcome: TargetOutcome | null): void {
  const { config, request, deps } = run;
  const now = deps.clock.now();
  deps.outcomes.add({
    tenant: request.principal.tenant,
    configId: config.id,
    configHash: config.hash,
    optionPath,
    status: outcome === null ? 0 : statusOf(outcome),
    firstByteMs: outcome?.result.timings.upstreamMs ?? 0,
    totalMs: outcome === null ? 0 : Math.max(0, now - outcome.startedAt),
    probeToken,
    at: now,
  });
}

/** 0 when it says nothing about the target: a fault of the mesh, a caller who left, the loser of a hedge, a target that was not called. */
function statusOf({ called, result }: TargetOutcome): number {
  if (!called || result.failure?.code === "client_closed" || (result.final && result.failure?.code !== "upstream_timeout")) return 0;
  return result.status;
}
