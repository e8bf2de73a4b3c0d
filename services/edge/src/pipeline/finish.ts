import type { End, Failure } from "@unigate/contracts";
import { hasAsyncHooks, recordWithAsyncHooks } from "./async-hooks.ts";
import { succeeded } from "./attempt-result.ts";
import { draftAttempt, usageOf } from "./record.ts";
import type { Run } from "./run-state.ts";
import { endTarget } from "./steps/report-outcome.ts";
import { settle } from "./steps/settle.ts";
import type { TargetOutcome } from "./target-outcome.ts";

/** How the answered attempt ended. */
export interface RunEnding {
  /** The body as it was sent; null for a stream. */
  readonly body: Buffer | null;
  readonly end: End | null;
  readonly cancelled: boolean;
  readonly failure?: Failure | null;
  readonly firstTokenMs?: number | null;
}

/** Once, after the last byte: settlement, log record, metrics and the hooks that nobody waits for. */
export function finishRun(run: Run, outcome: TargetOutcome, ending: RunEnding): void {
  endTarget(run);
  const draft = draftAttempt(run, outcome, ending);
  draft.head.last = true;
  run.isOver = true;
  settle(run, outcome, { usage: usageOf(outcome, ending.end), costMicro: draft.head.cost_micro_usd }, true);
  if (ending.cancelled || !succeeded(outcome.result.status) || !hasAsyncHooks(run)) {
    run.deps.spool.offer(draft, run.spoolNumber, true);
    return;
  }
  recordWithAsyncHooks(run, outcome, draft, checkedAnswer(run, ending));
}

/** What output hooks see of an answer; null when it is proxied, broken off or empty. */
function checkedAnswer(run: Run, ending: RunEnding): Buffer | null {
  if (run.request.surface === "proxy" || (ending.failure ?? null) !== null) return null;
  const body = ending.body ?? ending.end?.assembled ?? null;
  return body === null || body.length === 0 ? null : body;
}
