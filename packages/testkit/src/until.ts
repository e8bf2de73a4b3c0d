/** Longest that `until` waits, ms, unless said. */
const PATIENCE_MS = 10_000;
const EVERY_MS = 10;

/**
 * Waits for something to become true (anything but false, null or undefined) and gives it. A condition that throws is
 * not true yet. Fails after `patienceMs` with the last error, or with what was waited for.
 */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  patienceMs: number = PATIENCE_MS,
): Promise<Exclude<T, false | null | undefined>> {
  const giveUpAt = Date.now() + patienceMs;
  for (;;) {
    let problem: unknown;
    try {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined) return value as Exclude<T, false | null | undefined>;
    } catch (error) {
      problem = error;
    }
    if (Date.now() >= giveUpAt) throw new Error(`waited ${patienceMs} ms for: ${what}`, { cause: problem });
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}
