import {
  type BreakerCounts,
  type BreakerOutcome,
  type BreakerPhase,
  type BreakerRule,
  type BreakerState,
  breakerPhase,
  CLOSED_BREAKER,
  counted,
  countOutcomes,
  NO_COUNTS,
} from "@unigate/core";
import { type BreakerDelta, type ChangedBreaker, KEEP_MS } from "@unigate/storage";

/** Ends of probes of one target that wait for the store. */
const MOST_ENDS = 4;

/** What this replica knows of one target: what the store said last, and on top of it what it has not been told yet. */
export interface BreakerTarget {
  state: BreakerState;
  /** Of the last report; null while only the store has spoken of it. */
  rule: BreakerRule | null;
  /** Outcomes that the store does not know. */
  counts: BreakerCounts;
  readonly ends: { readonly token: string; readonly outcome: BreakerOutcome }[];
  /** A plan has passed over it although its cooldown was over: this replica would make the probe. */
  wanted: boolean;
  probe: HeldProbe | null;
}

/** A probe that this replica may make, or whose outcome it waits for. */
export interface HeldProbe {
  readonly token: string;
  begun: boolean;
  /** Whether the store knows that it was begun. */
  told: boolean;
  /** Unix ms by the local clock. */
  until: number;
}

export function newTarget(): BreakerTarget {
  return { state: CLOSED_BREAKER, rule: null, counts: NO_COUNTS, ends: [], wanted: false, probe: null };
}

export function targetPhase(target: BreakerTarget, now: number): BreakerPhase {
  return breakerPhase(target.state, now);
}

/** The probe that may be begun now. */
export function readyProbe(target: BreakerTarget, now: number): HeldProbe | null {
  const { probe } = target;
  return probe !== null && !probe.begun && now < probe.until ? probe : null;
}

/** Says that a probe has ended, to the store as well. */
export function addEnd(target: BreakerTarget, token: string, outcome: BreakerOutcome): void {
  if (target.ends.length >= MOST_ENDS) target.ends.shift();
  target.ends.push({ token, outcome });
}

/** What the store has to be told; the target then counts anew. */
export function takeDeltas(key: string, target: BreakerTarget): BreakerDelta[] {
  const { rule, counts } = target;
  if (rule === null || (counts === NO_COUNTS && target.ends.length === 0)) return [];
  target.counts = NO_COUNTS;
  const ends = target.ends.splice(0);
  const plain: BreakerDelta[] = counts === NO_COUNTS ? [] : [{ target: key, rule, counts, probe: null }];
  return [...ends.map((probe): BreakerDelta => ({ target: key, rule, counts: NO_COUNTS, probe })), ...plain];
}

/** What the store said is the truth; what came since is counted on top of it. */
export function adopt(target: BreakerTarget, changed: ChangedBreaker, now: number): void {
  const { failures, successes, countedForMs, openForMs } = changed;
  const openUntil = openForMs === null ? 0 : now + openForMs;
  const state: BreakerState = failures === 0 ? CLOSED_BREAKER : { failures, successes, since: now - countedForMs, openUntil };
  target.state = target.rule === null ? state : countOutcomes(state, target.counts, target.rule, now);
  if (breakerPhase(target.state, now) === "half_open") return;
  target.wanted = false;
  target.probe = null;
}

/** Whether nothing more has to be known of it. */
export function isForgettable(target: BreakerTarget, now: number): boolean {
  if (target.counts !== NO_COUNTS || target.ends.length > 0) return false;
  const { state, rule } = target;
  if (state.openUntil !== 0) return now >= state.openUntil + KEEP_MS;
  return rule === null ? state.failures === 0 : counted(state, rule, now) === CLOSED_BREAKER;
}
