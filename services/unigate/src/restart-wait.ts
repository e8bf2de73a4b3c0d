const FIRST_MS = 100;
const LONGEST_MS = 10_000;
/** A process that lived as long as this is no part of a series of failures. */
const HEALTHY_MS = 30_000;

/** How long to wait before a process is started again, ms. `lastMs` = its wait before that; 0 = none. */
export function restartWait(lastMs: number, livedMs: number): number {
  if (lastMs === 0 || livedMs >= HEALTHY_MS) return FIRST_MS;
  return Math.min(lastMs * 2, LONGEST_MS);
}
