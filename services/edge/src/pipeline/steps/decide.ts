import type { RetryRule } from "@unigate/core";
import type { AttemptResult } from "../attempt-result.ts";

/** Longest a provider's own wait is followed, and the most of all waits of one target (behaviour section 3). */
const MAX_WAIT_MS = 60_000;
const FIRST_BACKOFF_MS = 1_000;

/** What happens after an attempt. */
export type Decision = { readonly kind: "done" } | { readonly kind: "retry"; readonly waitMs: number } | { readonly kind: "give_up" };

const DONE: Decision = { kind: "done" };
const GIVE_UP: Decision = { kind: "give_up" };

/**
 * Whether the same target is tried again. `made` counts the retries so far, `waitedMs` their waits. Network failures
 * (no status of the upstream's own) are retried whatever the list says; everything else only when listed.
 * "give_up": the status calls for a retry that may not be made, which the answer's retry count of -1 tells.
 */
export function decideRetry(rule: RetryRule | null, result: AttemptResult, made: number, waitedMs: number): Decision {
  if (rule === null || result.final) return DONE;
  const network = result.failure?.code === "upstream_unreachable" || result.failure?.code === "upstream_connect_timeout";
  if (!network && !rule.onStatusCodes.includes(result.status)) return DONE;
  if (made >= rule.attempts) return GIVE_UP;
  if (rule.useRetryAfter && result.status === 429 && result.retryAfterMs !== null) {
    const waitMs = result.retryAfterMs;
    return waitMs >= MAX_WAIT_MS || waitedMs + waitMs > MAX_WAIT_MS ? GIVE_UP : { kind: "retry", waitMs };
  }
  return { kind: "retry", waitMs: Math.min(FIRST_BACKOFF_MS * 2 ** made, 16_000) };
}
