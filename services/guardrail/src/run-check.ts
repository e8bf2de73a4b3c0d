import type { CheckInput, CheckVerdict, Outside } from "@unigate/checks";
import { boundCall, type Call, type Clock, type JsonObject } from "@unigate/core";
import { named, type PreparedHookCheck } from "./prepare.ts";
import type { CheckResult } from "./results.ts";
import type { Turn } from "./turn.ts";

/** How checks are run in one call. */
export interface CheckRun {
  readonly input: CheckInput;
  readonly call: Call;
  readonly clock: Clock;
  /** Longest that one check may take that is not external, ms. */
  readonly timeoutMs: number;
  readonly turn: Turn;
  readonly post: Outside["post"];
}

/** What a check found. */
export interface CheckOutcome {
  readonly result: CheckResult;
  /** The new body; null = unchanged. */
  readonly rewritten: JsonObject | null;
}

/** Kept of the call's time to give the results back: who calls would take none at all for "everything passes", ms. */
const REPLY_MS = 500;
const MAX_MESSAGE_LENGTH = 1_000;

/** Runs one check. Never rejects: whatever goes wrong, the time and the end of the call included, is its error. */
export async function runCheck(check: PreparedHookCheck, run: CheckRun): Promise<CheckOutcome> {
  const started = run.clock.now();
  try {
    const found = await verdictOf(check, run);
    const rewritten = found.rewritten ?? null;
    return { result: resultOf(check, started, run.clock, found, null), rewritten };
  } catch (reason) {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    return { result: resultOf(check, started, run.clock, NOTHING_FOUND, error), rewritten: null };
  }
}

const NOTHING_FOUND: CheckVerdict = { verdict: false, data: null };

function verdictOf(check: PreparedHookCheck, run: CheckRun): CheckVerdict | Promise<CheckVerdict> {
  const { input, call, clock } = run;
  if (call.cancel.cancelled || clock.now() >= call.deadline) throw named("CheckCancelledError", "the request was given up");
  const prepared = check.prepare();
  if (prepared.kind === "broken") throw prepared.error;
  if (!prepared.phases.includes(input.phase)) throw named("CheckPhaseError", `${check.id} does not run ${input.phase} a request`);
  const { longestMs } = prepared;
  if (longestMs !== null) return within(longestMs, run, (bounded) => prepared.run(input, { call: bounded, post: run.post }));
  const found = prepared.run(input, { call, post: nothingOutside });
  return found instanceof Promise ? within(run.timeoutMs, run, () => found) : found;
}

/** Work that is given up, and told so, after `longestMs`, or right before the call's deadline. */
async function within<T>(longestMs: number, { call, clock }: CheckRun, begin: (bounded: Call) => T | Promise<T>): Promise<T> {
  const ms = Math.max(0, Math.min(longestMs, call.deadline - REPLY_MS - clock.now()));
  const bounded = boundCall(call, ms);
  try {
    return await new Promise<T>((resolve, reject) => {
      bounded.call.cancel.onCancel(() => {
        reject(
          call.cancel.cancelled
            ? named("CheckCancelledError", "the request was given up")
            : named("CheckTimeoutError", `the check took longer than ${Math.round(ms)} ms`),
        );
      });
      Promise.resolve(begin(bounded.call)).then(resolve, reject);
    });
  } finally {
    bounded.done();
  }
}

/** A check that does not say that it is external is all done here. */
function nothingOutside(): ReturnType<Outside["post"]> {
  return Promise.resolve({ kind: "failed", code: "refused", reason: "the check is not an external one" });
}

function resultOf(
  check: PreparedHookCheck,
  started: number,
  clock: Clock,
  { verdict, data, rewritten }: CheckVerdict,
  error: Error | null,
): CheckResult {
  return {
    id: check.id,
    verdict,
    data,
    ...(error === null ? {} : { error: { name: error.name, message: error.message.slice(0, MAX_MESSAGE_LENGTH) } }),
    execution_time: Math.round(clock.now() - started),
    transformed: rewritten !== undefined,
    created_at: new Date(started).toISOString(),
    log: null,
    fail_on_error: check.failOnError,
  };
}
