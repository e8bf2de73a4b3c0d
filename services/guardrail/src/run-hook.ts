import { setImmediate as nextTurn } from "node:timers/promises";
import type { PreparedHook } from "./prepare.ts";
import { type CheckResult, feedbackOf, type HookResult, passes } from "./results.ts";
import { type CheckRun, runCheck } from "./run-check.ts";

/** Checks that compute hold the process no longer than this before others have their turn, ms. */
const LONG_TURN_MS = 10;

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
  const deny = hook.deny || (verdict && action.deny);
  const denied = verdict ? action.deny : hook.deny;
  return {
    effect: hook.async ? "pass" : denied ? "deny" : verdict ? "pass" : "soft",
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
      deny,
    },
  };
}

async function runChecks(checks: PreparedHook["checks"], sequential: boolean, run: CheckRun): Promise<CheckResult[]> {
  const running: Promise<CheckResult>[] = [];
  let turn = performance.now();
  for (const check of checks) {
    if (performance.now() - turn > LONG_TURN_MS) {
      await nextTurn();
      turn = performance.now();
    }
    const result = runCheck(check, run);
    running.push(result);
    if (sequential) await result;
  }
  return Promise.all(running);
}
