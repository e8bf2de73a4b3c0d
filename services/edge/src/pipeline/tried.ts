import type { JsonObject } from "@unigate/core";
import { answeredStatus, type Run } from "./run-state.ts";
import type { RetryRecord, TargetOutcome } from "./target-outcome.ts";

/** Attempts that a decision lists, the last ones: a fallback over hundreds of targets writes a record for each. */
const MOST_TOLD = 20;

/** A target tried, as the decision tells it. */
export interface Tried {
  readonly option_path: string;
  readonly provider: string | null;
  /** That it had for the strategy, so 246 after a check that failed softly. */
  readonly status: number;
  readonly error: string | null;
  /** False: it was answered or refused before the provider was called. */
  readonly called: boolean;
  readonly retries: readonly RetryRecord[];
  readonly took_ms: number;
  /** Whether the next target followed. */
  went_on: boolean;
}

/** Notes how a target did, where there is more than one to tell of, or somebody asked. */
export function noteTried(run: Run, outcome: TargetOutcome): void {
  if (run.config.compiled.leaves.length === 1 && !run.request.tellDecision) return;
  if (run.tried.length >= MOST_TOLD) run.tried.shift();
  run.tried.push({
    option_path: outcome.leaf.optionPath,
    provider: outcome.target?.provider.id ?? null,
    status: answeredStatus(run, outcome.result.status),
    error: errorOf(run, outcome),
    called: outcome.called,
    retries: outcome.retries,
    took_ms: Math.max(0, run.deps.clock.now() - outcome.startedAt),
    went_on: false,
  });
}

/** The loser of a hedge was not cancelled by the client. */
function errorOf({ call }: Run, { result: { failure } }: TargetOutcome): string | null {
  if (failure?.code === "client_closed" && call.cancel.reason === "superseded") return "superseded";
  return failure?.code ?? null;
}

/** Targets that were tried beside this run. */
export function addTried(run: Run, tried: readonly Tried[]): void {
  run.tried.push(...tried);
  run.tried.splice(0, run.tried.length - MOST_TOLD);
}

/** The target tried last was left for the next one. */
export function noteGoesOn(run: Run): void {
  const last = run.tried.at(-1);
  if (last !== undefined) last.went_on = true;
}

/** What planning decided and what came of it; null when there was nothing to decide. */
export function decisionRecord(run: Run): JsonObject | null {
  if (run.tried.length > 0) return { ...run.decision, attempts: run.tried.map((tried) => ({ ...tried })) };
  for (const _ in run.decision) return run.decision;
  return null;
}
