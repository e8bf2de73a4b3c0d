import type { CheckInput, CheckVerdict } from "@unigate/checks";
import { boundCall, type Call, type Clock } from "@unigate/core";
import { named, type PreparedHookCheck } from "./prepare.ts";
import type { CheckResult } from "./results.ts";
import type { Turn } from "./turn.ts";

/** How checks are run in one call. */
export interface CheckRun {
  readonly input: CheckInput;
  readonly call: Call;
  readonly clock: Clock;
  /** Longest that one check may take, ms. */
  readonly timeoutMs: number;
  readonly turn: Turn;
}

/** Runs one check. Never rejects: whatever goes wrong, the time and the end of the call included, is its error. */
export async function runCheck(check: PreparedHookCheck, run: CheckRun): Promise<CheckResult> {
  const started = run.clock.now();
  try {
    const { verdict, data } = await verdictOf(check, run);
    return resultOf(check, started, run.clock, verdict, data, null);
  } catch (reason) {
    return resultOf(check, started, run.clock, false, null, reason instanceof Error ? reason : new Error(String(reason)));
  }
}

function verdictOf(check: PreparedHookCheck, run: CheckRun): CheckVerdict | Promise<CheckVerdict> {
  const { input, call, clock, timeoutMs } = run;
  if (call.cancel.cancelled || clock.now() >= call.deadline) throw named("CheckCancelledError", "the request was given up");
  const prepared = check.prepare();
  if (prepared.kind === "broken") throw prepared.error;
  if (!prepared.phases.includes(input.phase)) throw named("CheckPhaseError", `${check.id} does not run ${input.phase} a request`);
  const found = prepared.run(input);
  return found instanceof Promise ? within(timeoutMs, call, found) : found;
}

async function within<T>(timeoutMs: number, call: Call, work: Promise<T>): Promise<T> {
  const bounded = boundCall(call, timeoutMs);
  try {
    return await new Promise<T>((resolve, reject) => {
      bounded.call.cancel.onCancel(() => {
        reject(
          call.cancel.cancelled
            ? named("CheckCancelledError", "the request was given up")
            : named("CheckTimeoutError", `the check took longer than ${timeoutMs} ms`),
        );
      });
      work.then(resolve, reject);
    });
  } finally {
    bounded.done();
  }
}

function resultOf(
  check: PreparedHookCheck,
  started: number,
  clock: Clock,
  verdict: boolean,
  data: CheckResult["data"],
  error: Error | null,
): CheckResult {
  return {
    id: check.id,
    verdict,
    data,
    ...(error === null ? {} : { error: { name: error.name, message: error.message } }),
    execution_time: Math.round(clock.now() - started),
    transformed: false,
    created_at: new Date(started).toISOString(),
    log: null,
    fail_on_error: check.failOnError,
  };
}
