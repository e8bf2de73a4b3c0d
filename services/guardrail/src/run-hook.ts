import type { JsonObject } from "@unigate/core";
import type { Hook } from "./hook.ts";
import { withRewritten } from "./input.ts";
import type { PreparedHook } from "./prepare.ts";
import { feedbackOf, type HookResult, passes } from "./results.ts";
import { type CheckOutcome, type CheckRun, runCheck } from "./run-check.ts";

/** What a hook found, and what that does to the request. */
export interface HookOutcome {
  readonly effect: "pass" | "soft" | "deny";
  readonly result: HookResult;
  /** The new body; null = unchanged. */
  readonly rewritten: JsonObject | null;
}

/** Runs a hook. Null = skipped, as it has no enabled check. An async hook has no effect, whatever it finds. */
export async function runHook({ hook, checks }: PreparedHook, run: CheckRun): Promise<HookOutcome | null> {
  if (checks.length === 0) return null;
  const started = run.clock.now();
  const outcomes = hook.sequential ? await runInOrder(checks, run) : await runTogether(checks, run);
  const last = hook.async ? undefined : outcomes.findLast(({ rewritten }) => rewritten !== null);
  const results = outcomes.map((outcome) => (stays(hook, outcome, last) ? outcome.result : { ...outcome.result, transformed: false }));
  const verdict = results.every(passes);
  const action = verdict ? hook.onSuccess : hook.onFail;
  return {
    effect: hook.async ? "pass" : effectOf(hook, verdict),
    rewritten: last?.rewritten ?? null,
    result: {
      verdict,
      id: hook.id,
      transformed: last !== undefined,
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

/** Whether what a check has made of the body goes on: in order all of it, side by side the last rewrite. */
function stays(hook: Hook, outcome: CheckOutcome, last: CheckOutcome | undefined): boolean {
  return outcome === last || (hook.sequential && last !== undefined);
}

/** All checks see the body as it came. */
async function runTogether(checks: PreparedHook["checks"], run: CheckRun): Promise<CheckOutcome[]> {
  const running: Promise<CheckOutcome>[] = [];
  for (const check of checks) {
    while (run.turn.isLong) await run.turn.next();
    running.push(runCheck(check, run));
  }
  return Promise.all(running);
}

/** Each check sees what those before it have made of the body. */
async function runInOrder(checks: PreparedHook["checks"], run: CheckRun): Promise<CheckOutcome[]> {
  const outcomes: CheckOutcome[] = [];
  let { input } = run;
  for (const check of checks) {
    while (run.turn.isLong) await run.turn.next();
    const outcome = await runCheck(check, { ...run, input });
    outcomes.push(outcome);
    if (outcome.rewritten !== null) input = withRewritten(input, outcome.rewritten);
  }
  return outcomes;
}
