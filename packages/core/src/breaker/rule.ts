/** When the breaker of a target opens, and for how long (spec 2.5, behaviour 2.6). */
export interface BreakerRule {
  /** Failures that open it; null = only the percentage counts. */
  readonly failureThreshold: number | null;
  /** 1 to 100, of failures and successes together; null = only the number counts. */
  readonly failurePercentage: number | null;
  /** Failures and successes below which the percentage says nothing. */
  readonly minimumRequests: number;
  /** How long it stays open, ms: 30 s to a day. Failures are also counted together for this long. */
  readonly cooldownMs: number;
  /** Statuses that are failures; null = 500 and above. */
  readonly failureStatuses: readonly number[] | null;
}

const COOLDOWN_MS = { min: 30_000, max: 86_400_000 };
const MINIMUM_REQUESTS = 5;

/** `cb_config` as it is written; its shape has been checked. */
export interface BreakerFields {
  readonly failure_threshold?: number | undefined;
  readonly failure_threshold_percentage?: number | undefined;
  readonly minimum_requests?: number | undefined;
  readonly cooldown_interval: number;
  readonly failure_status_codes?: readonly number[] | undefined;
}

export function breakerRule(fields: BreakerFields): BreakerRule {
  return {
    failureThreshold: fields.failure_threshold ?? null,
    failurePercentage: fields.failure_threshold_percentage ?? null,
    minimumRequests: fields.minimum_requests ?? MINIMUM_REQUESTS,
    cooldownMs: Math.round(Math.min(COOLDOWN_MS.max, Math.max(COOLDOWN_MS.min, fields.cooldown_interval))),
    failureStatuses: fields.failure_status_codes ?? null,
  };
}

/** What one attempt says of its target. */
export type BreakerOutcome = "success" | "failure" | "neither";

/** A listed status is a failure even when it is a success elsewhere; what is neither 2xx nor a failure says nothing. */
export function breakerOutcome(status: number, rule: BreakerRule): BreakerOutcome {
  const failed = rule.failureStatuses === null ? status >= 500 : rule.failureStatuses.includes(status);
  if (failed) return "failure";
  return status >= 200 && status < 300 ? "success" : "neither";
}
