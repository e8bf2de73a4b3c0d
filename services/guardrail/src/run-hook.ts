import type { Hook } from "./hook.ts";
import type { PreparedHook } from "./prepare.ts";
import { type CheckResult, feedbackOf, type HookResult, passes } from "./results.ts";
import { type CheckRun, runCheck } from "./run-check.ts";

/** What a hook found, and what that does to the request. */
export interface HookOutcome {
  readonly effect: "pass" | "soft" | "deny";
  readonly result: HookResult;
}

/** Runs a hook. Null = skipped, as it has no enabled check. An async hook has no effect, whatever it finds. */
export async function runHook({ hook, checks }: PreparedHook, run: CheckRun): Promise<HookOutcome | null> {
  if (checks.length === 0) return null;
  const started = run.clock.now();
  const results = await runChecks(checks, hook.sequential, run);
  const verdict = results.every(passes);
  const action = verdict ? hook.onSuccess : hook.onFail;
  return {
    effect: hook.async ? "pass" : effectOf(hook, verdict),
    result: {
      verdict,
      id: hook.id,
      transformed: false,
      checks: results,
      feedback: feedbackOf(action.feedback, results),
      execution_time: Math.round(run.clock.now() - started),
      async: hook.async,
      type: hook.type,
      created_at: new Date(started).toISOString(),
      deny: hook.deny || (verdict && hook.onSuccess.deny),
    },
  };
}

function effectOf(hook: Hook, verdict: boolean): HookOutcome["effect"] {
  if (verdict) return hook.onSuccess.deny ? "deny" : "pass";
  return hook.deny ? "deny" : "soft";
}

async function runChecks(checks: PreparedHook["checks"], sequential: boolean, run: CheckRun): Promise<CheckResult[]> {
  const running: Promise<CheckResult>[] = [];
  for (const check of checks) {
    while (run.turn.isLong) await run.turn.next();
    const result = runCheck(check, run);
    running.push(result);
    if (sequential) await result;
  }
  return Promise.all(running);
}
