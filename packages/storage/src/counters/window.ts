/** 1970-01-05 00:00 UTC, the first Monday: weeks begin here, and every shorter window fits. */
const FIRST_MONDAY = 4 * 86_400_000;

/** Start (Unix ms) of the window of length `windowMs` that holds `now`. */
export function windowStart(now: number, windowMs: number): number {
  const since = now - FIRST_MONDAY;
  return now - (((since % windowMs) + windowMs) % windowMs);
}
