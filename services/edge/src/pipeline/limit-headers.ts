import type { Remaining } from "@unigate/contracts";

/** The tightest limit of requests and the tightest of tokens, in the spelling of the OpenAI API; flat pairs. */
export function limitHeaders(remaining: readonly Remaining[], now: number): string[] {
  const headers: string[] = [];
  for (const type of ["requests", "tokens"] as const) {
    const tightest = tightestOf(remaining, type);
    if (tightest === null) continue;
    const seconds = Math.max(0, Math.ceil((tightest.resetsAt - now) / 1_000));
    headers.push(`x-ratelimit-limit-${type}`, String(tightest.limit));
    headers.push(`x-ratelimit-remaining-${type}`, String(Math.max(0, tightest.left)));
    headers.push(`x-ratelimit-reset-${type}`, `${seconds}s`);
  }
  return headers;
}

/** Least left; of equal ones the one that stays shut the longest. */
function tightestOf(remaining: readonly Remaining[], type: string): Remaining | null {
  let tightest: Remaining | null = null;
  for (const one of remaining) {
    if (one.type !== type) continue;
    const isTighter = tightest === null || one.left < tightest.left || (one.left === tightest.left && one.resetsAt > tightest.resetsAt);
    if (isTighter) tightest = one;
  }
  return tightest;
}
