import type { HedgeRule } from "@unigate/core";
import type { HedgeEvent } from "../edge-metrics.ts";
import type { Run } from "./run-state.ts";

/** Hedges that a decision lists, the first ones. */
const MOST_TOLD = 20;

/** Why the second target of a hedge was not started. */
export type WhyNot = "first_answered" | "first_failed" | Exclude<HedgeEvent, "started" | "second_won">;

/** A hedge as the decision tells it; filled in while the targets run. */
export interface ToldHedge {
  readonly at: string;
  /** Null = not known. */
  readonly delay_ms: number | null;
  second_started: boolean;
  /** Null when it was started. */
  why_not: WhyNot | null;
  /** Option path of the target that answered with success. */
  winner: string | null;
  /** Of the one that was cancelled for it. */
  loser: string | null;
}

/** Begins to tell of a hedge. */
export function tellHedge(run: Run, { path }: HedgeRule, delayMs: number | null): ToldHedge {
  const told: ToldHedge = { at: path, delay_ms: delayMs, second_started: false, why_not: null, winner: null, loser: null };
  const before = run.decision["hedges"];
  const hedges = Array.isArray(before) ? (before as unknown[]) : [];
  if (hedges.length < MOST_TOLD) run.decision = { ...run.decision, hedges: [...hedges, told] };
  return told;
}

/** The second target is not started for a reason that has nothing to do with the first. */
export function refuse(run: Run, told: ToldHedge, reason: Exclude<WhyNot, "first_answered" | "first_failed">): void {
  told.why_not = reason;
  run.deps.metrics.hedged(reason);
}
