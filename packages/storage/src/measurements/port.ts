/** Answers of one target since the caller's last exchange. */
export interface LatencyDelta {
  readonly target: string;
  readonly count: number;
  /** Of these answers, ms to the first byte. */
  readonly meanMs: number;
}

/** Requests that one process has under way at a target: a number, not a change, so that a lost message heals. */
export interface InFlightDelta {
  readonly target: string;
  /** The process. */
  readonly reporter: string;
  readonly count: number;
  /** By the reporter's clock, ms: an older number does not replace a newer one. */
  readonly at: number;
}

export interface MeasurementExchange {
  readonly organisationId: string;
  readonly latencies: readonly LatencyDelta[];
  readonly inFlight: readonly InFlightDelta[];
  /** Targets to tell about. */
  readonly asked: readonly string[];
}

export interface Measurement {
  /** Weighted towards the latest; null = nothing is known. */
  readonly latencyMs: number | null;
  /** Since the last answer; 0 without one. */
  readonly ageMs: number;
  /** Of all processes that have spoken within `REPORTER_MS`. */
  readonly inFlight: number;
}

/** What the newest answer counts in the average. */
export const NEWEST_SHARE = 0.2;
/** A process that says nothing for this long has nothing under way. */
export const REPORTER_MS = 15_000;
/** A target of which nothing comes is forgotten after this. */
export const MEASUREMENT_MS = 600_000;

/** Live measurements of all replicas. Anything may be forgotten. */
export interface Measurements {
  /** Adds, then tells of `asked` in its order. Rejects with StoreLostError only. */
  exchange(call: MeasurementExchange): Promise<readonly Measurement[]>;
}

/** The average after `count` answers of `meanMs`. */
export function averaged(latencyMs: number | null, count: number, meanMs: number): number {
  return latencyMs === null ? meanMs : latencyMs + (1 - (1 - NEWEST_SHARE) ** count) * (meanMs - latencyMs);
}
