import { requirement } from "@unigate/testkit";
import { describe, test } from "vitest";

/** Numbers that a seed decides. */
export interface Random {
  /** From 0 to 1. */
  next(): number;
  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number;
  oneOf<T>(choices: readonly T[]): T;
}

export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    between,
    oneOf<T>(choices: readonly T[]): T {
      const chosen = choices[between(0, choices.length - 1)];
      if (chosen === undefined) throw new Error("there is nothing to choose from");
      return chosen;
    },
  };
}

/** Of all seeded runs together; each kind of run has its share. */
const DEFAULT_RUNS = 200;
const ONLY = process.env["UNIGATE_ROBUSTNESS_SEED"];

interface RunsOptions {
  /** Share of all runs, 0 to 1. */
  readonly share: number;
  /** Runs at once. */
  readonly lanes: number;
  readonly timeoutMs: number;
}

/**
 * Seeded runs as one test: UNIGATE_ROBUSTNESS_RUNS says how many (of all kinds together, default 200), and
 * UNIGATE_ROBUSTNESS_SEED does one again. Every run that fails is told with its seed.
 */
export function seededRuns(name: string, options: RunsOptions, run: (seed: number) => Promise<void>): void {
  const count = ONLY === undefined ? Math.ceil(Number(process.env["UNIGATE_ROBUSTNESS_RUNS"] ?? DEFAULT_RUNS) * options.share) : 1;
  const first = ONLY === undefined ? Math.floor(Math.random() * 1_000_000_000) : Number(ONLY);
  describe.skipIf(!requirement("long").available)("seeded runs", () => {
    test(`${name}, ${count} runs`, { timeout: options.timeoutMs }, async () => {
      process.stdout.write(`${name}: seeds ${first} to ${first + count - 1}\n`);
      const failures: string[] = [];
      let next = first;
      async function lane(): Promise<void> {
        while (next < first + count) {
          const seed = next++;
          await run(seed).catch((error: unknown) => {
            const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
            failures.push(`UNIGATE_ROBUSTNESS_SEED=${seed} fails: ${why}`);
            process.stdout.write(`${failures.at(-1)}\n`);
          });
        }
      }
      await Promise.all(Array.from({ length: options.lanes }, lane));
      if (failures.length > 0) throw new Error(`${failures.length} of ${count} runs\n${failures.slice(0, 5).join("\n\n")}`);
    });
  });
}
