import { succeeded } from "./attempt-result.ts";
import { recordAttempt } from "./record.ts";
import { answeredStatus, type Run } from "./run-state.ts";
import type { TargetOutcome } from "./target-outcome.ts";
import { noteGoesOn } from "./tried.ts";

/** Whether a fallback leaves a target for the next. `leaveOn` null = on any status outside 200-299. */
export function goesOn(run: Run, outcome: TargetOutcome, leaveOn: readonly number[] | null): boolean {
  if (outcome.result.final || run.call.cancel.cancelled || run.request.upload !== null) return false;
  const status = answeredStatus(run, outcome.result.status);
  // A stream that has begun is the answer.
  if (outcome.result.stream !== null && succeeded(status)) return false;
  return leaveOn === null ? !succeeded(status) : leaveOn.includes(status);
}

/** Logs and settles a target that another one follows, and lets go of its answer. */
export async function leave(run: Run, outcome: TargetOutcome): Promise<void> {
  noteGoesOn(run);
  recordAttempt(run, outcome);
  await outcome.result.stream?.parts.return?.();
}
