import { GatewayError, type HedgeRule, type PlanHedge, type PlanNode } from "@unigate/core";
import { succeeded } from "./attempt-result.ts";
import { goesOn, leave } from "./goes-on.ts";
import { refuse, type ToldHedge, tellHedge } from "./hedge-decision.ts";
import { configKey, hedgeDelay, noteOvertaken } from "./hedge-delay.ts";
import { isReplayable, mayDeny } from "./may-hedge.ts";
import { firstLeaf } from "./plan-leaves.ts";
import type { AdmittedTarget } from "./prepare-target.ts";
import { type AttemptPlan, adopt, dismiss, type Racer, type RacerEnd, startRacer, supersede } from "./racer.ts";
import { answeredStatus, type Run } from "./run-state.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** A hedge while it runs. */
interface Hedging {
  readonly run: Run;
  readonly hedge: PlanHedge;
  readonly rule: HedgeRule;
  readonly first: PlanNode;
  readonly second: PlanNode;
  readonly told: ToldHedge;
  readonly attemptPlan: AttemptPlan;
}

/**
 * Tries the first target, and beside it the second once the first is slow: the first with content wins and the other
 * is cancelled. When both fail, the outcome of the one that ended last counts. Where nothing may be hedged, a fallback
 * goes on as without it and a load balancer keeps to its first choice.
 */
export async function attemptHedge(
  run: Run,
  hedge: PlanHedge,
  admitted: AdmittedTarget | null,
  attemptPlan: AttemptPlan,
): Promise<TargetOutcome> {
  const rule = run.config.compiled.hedges.get(hedge.budgetToken);
  const [first, second] = hedge.racers;
  if (rule === undefined || first === undefined || second === undefined)
    throw new Error("the plan has a hedge that the config does not have");
  run.deps.hedgeBudgets.earn(configKey(run), rule.maxExtraPercent);
  const delayMs = hedgeDelay(run, rule, hedge);
  const hedging: Hedging = { run, hedge, rule, first, second, told: tellHedge(run, rule, delayMs), attemptPlan };
  if (delayMs === null || !isReplayable(run.request)) {
    refuse(run, hedging.told, delayMs === null ? "too_few_samples" : "not_replayable");
    return inOrder(hedging, await attemptPlan(run, first, admitted));
  }
  const startedAt = run.deps.clock.now();
  const racer = startRacer(run, first, admitted, attemptPlan);
  if (!(await endsWithin(racer, delayMs)) && (await maySecondStart(hedging, racer))) return race(hedging, racer, startedAt);
  return inOrder(hedging, outcomeOf(run, await racer.ended));
}

/** Whether a racer ends before so many ms are over. */
function endsWithin(racer: Racer, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void racer.ended.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Takes an additional call from the budget, unless something forbids it or the first target has ended meanwhile. */
async function maySecondStart({ run, hedge, rule, told }: Hedging, first: Racer | null): Promise<boolean> {
  const denies = await mayDeny(run, hedge);
  if ((first !== null && first.end !== null) || run.call.cancel.cancelled) return false;
  if (denies) refuse(run, told, "may_deny");
  else if (!run.deps.hedgeBudgets.take(configKey(run), rule.maxExtraPercent)) refuse(run, told, "over_budget");
  else begin(run, told);
  return told.second_started;
}

function begin(run: Run, told: ToldHedge): void {
  told.second_started = true;
  run.deps.metrics.hedged("started");
}

async function race(
  { run, hedge, rule, first, second, told, attemptPlan }: Hedging,
  one: Racer,
  startedAt: number,
): Promise<TargetOutcome> {
  const two = startRacer(run, second, null, attemptPlan);
  const earlier = await Promise.race([one.ended, two.ended]);
  if (hasWon(earlier, rule)) {
    const loser = earlier.racer === one ? two : one;
    told.loser = firstLeaf(loser === one ? first : second).optionPath;
    if (loser === one) noteOvertaken(run, rule, hedge, run.deps.clock.now() - startedAt);
    supersede(run, loser, ({ leaf }) => (told.loser = leaf.optionPath));
    return won(run, told, earlier, two);
  }
  const later = await (earlier.racer === one ? two : one).ended;
  // A fault of the gateway's own says nothing of the target: an outcome goes first.
  const [left, kept] = later.outcome === null ? [later, earlier] : [earlier, later];
  if (left.outcome !== null) await leave(left.racer.run, left.outcome);
  else logFault(run, left);
  dismiss(run, left.racer);
  return hasWon(kept, rule) ? won(run, told, kept, two) : outcomeOf(run, kept);
}

function won(run: Run, told: ToldHedge, end: RacerEnd, two: Racer): TargetOutcome {
  const outcome = outcomeOf(run, end);
  told.winner = outcome.leaf.optionPath;
  if (end.racer === two) run.deps.metrics.hedged("second_won");
  return outcome;
}

/** The outcome that counts. Throws the fault of a racer that has none. */
function outcomeOf(run: Run, { racer, outcome, fault }: RacerEnd): TargetOutcome {
  adopt(run, racer);
  if (outcome === null) throw fault;
  return outcome;
}

function hasWon({ racer, outcome }: RacerEnd, rule: HedgeRule): boolean {
  if (outcome === null) return false;
  const status = answeredStatus(racer.run, outcome.result.status);
  return succeeded(status) && !(leaveOnOf(rule, outcome)?.includes(status) === true && outcome.result.stream === null);
}

/** What follows the first target when it was alone. */
async function inOrder(hedging: Hedging, outcome: TargetOutcome): Promise<TargetOutcome> {
  const { run, rule, second, told, attemptPlan } = hedging;
  const isSuccess = succeeded(answeredStatus(run, outcome.result.status));
  if (isSuccess) told.winner = outcome.leaf.optionPath;
  if (rule.leaveOn !== null) {
    told.why_not ??= isSuccess ? "first_answered" : "first_failed";
    if (!goesOn(run, outcome, leaveOnOf(rule, outcome))) return outcome;
  } else if (isSuccess || told.why_not !== null || !goesOn(run, outcome, null) || !(await maySecondStart(hedging, null))) {
    told.why_not ??= isSuccess ? "first_answered" : "first_failed";
    return outcome;
  }
  await leave(run, outcome);
  const next = await attemptPlan(run, second, null);
  told.winner = succeeded(answeredStatus(run, next.result.status)) ? next.leaf.optionPath : null;
  return next;
}

/** The statuses on which a fallback leaves the child that `outcome` is of; null = any outside 200-299. */
function leaveOnOf({ path, leaveOn }: HedgeRule, { leaf }: TargetOutcome): readonly number[] | null {
  const child = Number.parseInt(leaf.optionPath.slice(`${path}.targets[`.length), 10);
  return leaveOn?.[child] ?? null;
}

function logFault(run: Run, { fault }: RacerEnd): void {
  const level = fault instanceof GatewayError ? "warn" : "error";
  run.deps.log[level]({ traceId: run.request.trace.traceId, error: String(fault) }, "a hedged target could not be tried");
}
