import { CancelToken, type PlanNode } from "@unigate/core";
import type { AdmittedTarget } from "./prepare-target.ts";
import { draftAttempt, usageOf } from "./record.ts";
import { newHookState, type Run } from "./run-state.ts";
import { endTarget } from "./steps/report-outcome.ts";
import { settle } from "./steps/settle.ts";
import type { TargetOutcome } from "./target-outcome.ts";
import { addTried } from "./tried.ts";

/** How a part of a plan is tried: `attemptPlan`. */
export type AttemptPlan = (run: Run, plan: PlanNode, first: AdmittedTarget | null) => Promise<TargetOutcome>;

/** How a racer ended: with an outcome, or by a fault. */
export interface RacerEnd {
  readonly racer: Racer;
  readonly outcome: TargetOutcome | null;
  readonly fault: unknown;
}

/** One of two targets that run beside each other, with a Run of its own. */
export interface Racer {
  readonly run: Run;
  /** Never rejects. */
  readonly ended: Promise<RacerEnd>;
  /** Null while it runs. */
  readonly end: RacerEnd | null;
}

/** Starts a part of the plan. `first` = its first leaf, admitted by `parent` before. */
export function startRacer(parent: Run, plan: PlanNode, first: AdmittedTarget | null, attemptPlan: AttemptPlan): Racer {
  const run = runOfRacer(parent, first !== null);
  let end: RacerEnd | null = null;
  const racer: Racer = {
    run,
    ended: attemptPlan(run, plan, first).then(
      (outcome) => (end = { racer, outcome, fault: null }),
      (fault: unknown) => (end = { racer, outcome: null, fault }),
    ),
    get end() {
      return end;
    },
  };
  return racer;
}

/**
 * What is known of one target is the racer's own; numbers of attempts are the request's. Its cancellation follows that
 * of the request. `hasAdmitted` = it has the target that `parent` admitted last.
 */
function runOfRacer(parent: Run, hasAdmitted: boolean): Run {
  endTarget(parent);
  const cancel = new CancelToken();
  parent.call.cancel.onCancel((reason) => cancel.cancel(reason));
  const { isReserved, ofRequest, ofTarget } = parent.limits;
  return {
    ...parent,
    call: { ...parent.call, cancel },
    hooks: hasAdmitted ? parent.hooks : newHookState(),
    limits: { isReserved, ofRequest, ofTarget: hasAdmitted ? ofTarget : [] },
    tried: [],
    endTarget: null,
    get attempts() {
      return parent.attempts;
    },
    set attempts(next) {
      parent.attempts = next;
    },
    get isOver() {
      return parent.isOver;
    },
    set isOver(next) {
      parent.isOver = next;
    },
  };
}

/** What the request goes on with once this racer's outcome is the one that counts. */
export function adopt(run: Run, racer: Racer): void {
  run.hooks = racer.run.hooks;
  run.decision = racer.run.decision;
  run.limits.ofTarget = racer.run.limits.ofTarget;
  run.endTarget = racer.run.endTarget;
  takeOver(run, racer);
}

/** What is kept of a racer whose outcome does not count. */
export function dismiss(run: Run, racer: Racer): void {
  endTarget(racer.run);
  takeOver(run, racer);
}

function takeOver(run: Run, { run: own }: Racer): void {
  run.limits.isReserved ||= own.limits.isReserved;
  addTried(run, own.tried);
}

/**
 * Cancels a racer for the one that won. Nobody waits for it: its answer is let go of, and it is settled and logged
 * when it ends, which may be after the request.
 */
export function supersede(run: Run, racer: Racer, onEnd: (outcome: TargetOutcome) => void): void {
  // Perhaps reserved by now: what closes the reservation has to know.
  run.limits.isReserved ||= racer.run.limits.isReserved;
  racer.run.call.cancel.cancel("superseded");
  racer.ended
    .then(async ({ outcome, fault }) => {
      endTarget(racer.run);
      if (outcome === null) throw fault;
      onEnd(outcome);
      recordLoser(run, racer, outcome);
      await outcome.result.stream?.parts.return?.();
    })
    .catch((error: unknown) =>
      run.deps.log.error({ traceId: run.request.trace.traceId, error: String(error) }, "the loser of a hedge ended badly"),
    );
}

function recordLoser(parent: Run, { run }: Racer, outcome: TargetOutcome): void {
  // It may have failed by itself just before.
  const { result } = outcome;
  const isCut = result.failure?.code === "client_closed";
  const hasFailed = result.failure !== null && !isCut;
  const told = isCut ? { ...outcome, result: { ...result, failure: null, body: null } } : outcome;
  const draft = draftAttempt(run, told, { cancelled: !hasFailed });
  // The request may have closed its reservation before this target was in it.
  settle(run, outcome, { usage: usageOf(outcome, null), costMicro: draft.head.cost_micro_usd }, parent.isOver);
  if (!parent.isOver) parent.limits.isReserved ||= run.limits.isReserved;
  run.deps.spool.offer(draft, parent.isOver ? 0 : run.spoolNumber, false);
}
