import type { End, Failure } from "@unigate/contracts";
import { succeeded } from "./attempt-result.ts";
import { recordAttempt } from "./record.ts";
import type { Run } from "./run-state.ts";
import { runAsyncHooks } from "./steps/check-hooks.ts";
import { hasRequestLimits } from "./steps/reserve.ts";
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
  recordAttempt(run, outcome, ending, true);
  if (hasRequestLimits(run)) settle(run, outcome);
  if (ending.cancelled || !succeeded(outcome.result.status)) return;
  const body = ending.body ?? ending.end?.assembled ?? null;
  const { beforeHooks, afterHooks } = outcome.leaf;
  if (!beforeHooks.some(isAsync) && !afterHooks.some(isAsync)) return;
  run.deps.background.run(async () => {
    await runAsyncHooks(run, "before", beforeHooks, outcome.shaped, null);
    if (body !== null) await runAsyncHooks(run, "after", afterHooks, outcome.shaped, { status: outcome.result.status, body });
  });
}

function isAsync(hook: { readonly async: boolean }): boolean {
  return hook.async;
}
