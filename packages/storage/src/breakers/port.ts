import type { BreakerCounts, BreakerOutcome, BreakerRule, BreakerState } from "@unigate/core";

/** What happened to one target since the caller's last exchange. */
export interface BreakerDelta {
  /** The target's key within its organisation. */
  readonly target: string;
  readonly rule: BreakerRule;
  readonly counts: BreakerCounts;
  /** A probe of the caller that has ended; null = none. */
  readonly probe: { readonly token: string; readonly outcome: BreakerOutcome } | null;
}

/** A probe by its target and the token that its maker chose. */
export interface Probe {
  readonly target: string;
  readonly token: string;
}

export interface BreakerExchange {
  readonly organisationId: string;
  /** Version up to which the caller knows every change; 0 = it knows nothing. */
  readonly since: number;
  readonly deltas: readonly BreakerDelta[];
  /** Probes that the caller would make. */
  readonly wanted: readonly Probe[];
  /** Probes of the caller that are under way: kept for `PROBE_MS` from now. */
  readonly begun: readonly Probe[];
}

/** A state with its times as seen from now, because clocks differ. */
export interface ChangedBreaker {
  readonly target: string;
  readonly failures: number;
  readonly successes: number;
  /** Since the first failure, ms. */
  readonly countedForMs: number;
  /** Until the cooldown ends, ms, 0 when it has; null = closed. */
  readonly openForMs: number | null;
}

export interface BreakerExchangeReply {
  /** Give it as the next `since`. */
  readonly version: number;
  /** Oldest change first; each target once. There may be more than one reply holds. */
  readonly changed: readonly ChangedBreaker[];
  /** Tokens of `wanted` that may be used for `GRANT_MS`: nobody else has one of that target. */
  readonly granted: readonly string[];
}

/** A probe that nobody begins is free for others after this, ms. */
export const GRANT_MS = 5_000;
/** A probe without an outcome is free for others after this, ms. */
export const PROBE_MS = 30_000;
/** A half-open breaker that nobody probes is forgotten, ms after its cooldown. */
export const KEEP_MS = 86_400_000;
/** Changes in one reply. */
export const MOST_CHANGES = 500;
/** Targets of one organisation; the one whose last change is the oldest goes first. */
export const MOST_TARGETS = 2_000;

/** The breakers of all replicas. Anything may be forgotten: a breaker that is not known is closed. */
export interface Breakers {
  /** Atomic: adds what happened, then tells what changed. Rejects with StoreLostError only. */
  exchange(call: BreakerExchange): Promise<BreakerExchangeReply>;
}

/** `state` as one reply tells it. */
export function changedBreaker(target: string, state: BreakerState, now: number): ChangedBreaker {
  return {
    target,
    failures: state.failures,
    successes: state.successes,
    countedForMs: state.since === 0 ? 0 : now - state.since,
    openForMs: state.openUntil === 0 ? null : Math.max(0, state.openUntil - now),
  };
}
