import type { BreakerOutcome, BreakerRule } from "./rule.ts";

/** What is known of one target. Times are Unix ms, 0 = not. */
export interface BreakerState {
  /** Since the first failure; both 0 while no failure counts. */
  readonly failures: number;
  readonly successes: number;
  /** The first failure that counts. */
  readonly since: number;
  /** Set while it is open, and then until a probe has ended well. */
  readonly openUntil: number;
}

/** Outcomes in the order in which they came, so far as it matters: successes after the first failure count anew. */
export interface BreakerCounts {
  readonly successesBefore: number;
  readonly failures: number;
  readonly successesAfter: number;
}

export type BreakerPhase = "closed" | "open" | "half_open";

export const CLOSED_BREAKER: BreakerState = { failures: 0, successes: 0, since: 0, openUntil: 0 };
export const NO_COUNTS: BreakerCounts = { successesBefore: 0, failures: 0, successesAfter: 0 };

/** Half-open: the cooldown is over and one probe at a time may be made. */
export function breakerPhase(state: BreakerState, now: number): BreakerPhase {
  if (state.openUntil === 0) return "closed";
  return now < state.openUntil ? "open" : "half_open";
}

/** `counts` and one outcome more. */
export function addOutcome(counts: BreakerCounts, outcome: BreakerOutcome): BreakerCounts {
  if (outcome === "failure") return { ...counts, failures: counts.failures + 1 };
  if (outcome === "neither") return counts;
  return counts.failures === 0
    ? { ...counts, successesBefore: counts.successesBefore + 1 }
    : { ...counts, successesAfter: counts.successesAfter + 1 };
}

/**
 * Counts outcomes of plain attempts. Failures are counted together for one cooldown from the first of them, so that
 * those of hours ago do not add up. What ends while it is open began before, or bypassed it: it says nothing.
 */
export function countOutcomes(state: BreakerState, counts: BreakerCounts, rule: BreakerRule, now: number): BreakerState {
  if (state.openUntil !== 0 || counts.successesBefore + counts.failures + counts.successesAfter === 0) return state;
  const known = counted(state, rule, now);
  const isFirst = known.failures === 0;
  const failures = known.failures + counts.failures;
  if (failures === 0) return CLOSED_BREAKER;
  const successes = isFirst ? counts.successesAfter : known.successes + counts.successesBefore + counts.successesAfter;
  const next = { failures, successes, since: isFirst ? now : known.since, openUntil: 0 };
  return opens(next, rule) ? { ...next, openUntil: now + rule.cooldownMs } : next;
}

/** A probe has ended. Only its success closes; what is neither leaves it half-open for the next probe. */
export function endProbe(state: BreakerState, outcome: BreakerOutcome, rule: BreakerRule, now: number): BreakerState {
  if (state.openUntil === 0 || outcome === "neither") return state;
  if (outcome === "success") return CLOSED_BREAKER;
  return { ...state, failures: state.failures + 1, openUntil: now + rule.cooldownMs };
}

/** The state without failures that are too old to count. */
export function counted(state: BreakerState, rule: Pick<BreakerRule, "cooldownMs">, now: number): BreakerState {
  return state.openUntil === 0 && now - state.since >= rule.cooldownMs ? CLOSED_BREAKER : state;
}

function opens({ failures, successes }: BreakerState, rule: BreakerRule): boolean {
  if (rule.failureThreshold !== null && failures >= rule.failureThreshold) return true;
  const total = failures + successes;
  return rule.failurePercentage !== null && total >= rule.minimumRequests && failures * 100 >= rule.failurePercentage * total;
}
