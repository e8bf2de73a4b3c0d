import type { PlanView, RetryRule } from "@unigate/core";
import { type AttemptResult, succeeded } from "../attempt-result.ts";

/** Longest a provider's own wait is followed, and the most of all waits of one target (behaviour section 3). */
const MAX_WAIT_MS = 60_000;
const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 16_000;

/** What happens after an attempt. */
export type Decision = { readonly kind: "done" } | { readonly kind: "retry"; readonly waitMs: number } | { readonly kind: "give_up" };

const DONE: Decision = { kind: "done" };
const GIVE_UP: Decision = { kind: "give_up" };

/** What a decision looks at, beside the rule and the result. */
export interface RetryFacts {
  /** The status that the client would get: 246 when a check failed softly. */
  readonly status: number;
  /** Retries so far. */
  readonly made: number;
  /** Their waits together, ms. */
  readonly waitedMs: number;
}

/**
 * Whether the same target is tried again. Network failures (no status of the upstream's own) are retried whatever the
 * list says; everything else only when listed, and a stream that has begun never. "give_up": the status calls for a
 * retry that may not be made, which the answer's retry count of -1 tells.
 *
 * The wait is the provider's own after a 429, when the rule wants that (behaviour section 3); else
 * min(1 s * 2^retries, 16 s) * (0.5 + 0.5 * draw): half of it is left to chance, so that clients which failed together
 * do not come back together.
 */
export function decideRetry(
  rule: RetryRule | null,
  result: AttemptResult,
  { status, made, waitedMs }: RetryFacts,
  chance: Pick<PlanView, "draw">,
): Decision {
  if (rule === null || result.final || (result.stream !== null && succeeded(status))) return DONE;
  const network = result.failure?.code === "upstream_unreachable" || result.failure?.code === "upstream_connect_timeout";
  if (!network && !rule.onStatusCodes.includes(status)) return DONE;
  if (made >= rule.attempts) return GIVE_UP;
  if (rule.useRetryAfter && status === 429 && result.retryAfterMs !== null) {
    const waitMs = result.retryAfterMs;
    return waitMs >= MAX_WAIT_MS || waitedMs + waitMs > MAX_WAIT_MS ? GIVE_UP : { kind: "retry", waitMs };
  }
  const longest = Math.min(FIRST_BACKOFF_MS * 2 ** made, MAX_BACKOFF_MS);
  return { kind: "retry", waitMs: Math.round(longest * (0.5 + 0.5 * chance.draw())) };
}
