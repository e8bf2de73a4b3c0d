import type { HedgeRule, PlanHedge } from "@unigate/core";
import { succeeded } from "./attempt-result.ts";
import { firstLeaf } from "./plan-leaves.ts";
import { answeredStatus, type Run } from "./run-state.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** What tells apart the budgets of hedges, and the configs of their targets. */
export function configKey({ request, config }: Run): string {
  return `${request.principal.tenant.organisationId}\n${config.hash.toString("latin1")}`;
}

/** How long the first target of a hedge has to be slow, ms; null = too little is known of it. */
export function hedgeDelay(run: Run, rule: HedgeRule, hedge: PlanHedge): number | null {
  if (rule.percentile === null) return hedge.delayMs;
  return run.deps.contentTimes.percentile(firstTarget(run, hedge), rule.percentile);
}

/** Notes how long a target took until its first content, where a hedge waits by it. */
export function noteContentTime(run: Run, { called, result, leaf, startedAt }: TargetOutcome): void {
  if (!called || !succeeded(answeredStatus(run, result.status))) return;
  for (const { percentile } of run.config.compiled.hedges.values()) {
    if (percentile === null) continue;
    run.deps.contentTimes.add(targetKey(run, leaf.optionPath), run.deps.clock.now() - startedAt);
    return;
  }
}

/**
 * A first target that was overtaken took at least so long. Without these the percentile would be that of the fast
 * answers only, and sink with every hedge.
 */
export function noteOvertaken(run: Run, rule: HedgeRule, hedge: PlanHedge, ms: number): void {
  if (rule.percentile !== null) run.deps.contentTimes.add(firstTarget(run, hedge), ms);
}

function firstTarget(run: Run, hedge: PlanHedge): string {
  const [first] = hedge.racers;
  return targetKey(run, first === undefined ? "" : firstLeaf(first).optionPath);
}

function targetKey(run: Run, optionPath: string): string {
  return `${configKey(run)}\n${optionPath}`;
}
