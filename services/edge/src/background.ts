import type { Logger } from "@unigate/runtime";

const MAX_WAITING = 1_000;
const MAX_RUNNING = 16;

/** Work after the last byte that nobody waits for: bounded, drops counted (DESIGN 8.20). */
export interface Background {
  run(work: () => Promise<void>): void;
  /** Resolves when nothing runs or waits any more. */
  idle(): Promise<void>;
  readonly dropped: number;
}

export function createBackground(log: Logger): Background {
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;
  let dropped = 0;
  let whenIdle: (() => void)[] = [];

  function next(): void {
    while (running < MAX_RUNNING) {
      const work = waiting.shift();
      if (work === undefined) break;
      running += 1;
      work()
        .catch((error: unknown) => log.warn({ error: String(error) }, "background work failed"))
        .finally(() => {
          running -= 1;
          next();
        });
    }
    if (running > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  }

  return {
    run(work) {
      if (waiting.length >= MAX_WAITING) {
        dropped += 1;
        return;
      }
      waiting.push(work);
      next();
    },
    idle: () => (running === 0 && waiting.length === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve))),
    get dropped() {
      return dropped;
    },
  };
}
