import { CancelToken } from "@unigate/core";
import type { Logger } from "@unigate/runtime";

const MAX_WAITING = 1_000;
const MAX_RUNNING = 64;
/** Bodies that work holds while it waits and runs, bytes. */
const MAX_BYTES = 64 * 1_024 * 1_024;

/** Work after the last byte that nobody waits for: bounded, drops counted (DESIGN 8.20). */
export interface Background {
  /** Begins when there is room. `bytes` is what the work keeps in memory. False = too much waits, the work is dropped. */
  run(work: () => Promise<void>, bytes: number): boolean;
  /** Cancelled when all work is to end now. */
  readonly cancel: CancelToken;
  /** Resolves when nothing runs or waits any more; what takes longer than `ms` is cancelled. */
  finish(ms: number): Promise<void>;
  readonly dropped: number;
}

export function createBackground(log: Logger): Background {
  const waiting: { readonly work: () => Promise<void>; readonly bytes: number }[] = [];
  const cancel = new CancelToken();
  let running = 0;
  let held = 0;
  let dropped = 0;
  let whenIdle: (() => void)[] = [];

  function next(): void {
    while (running < MAX_RUNNING) {
      const first = waiting.shift();
      if (first === undefined) break;
      running += 1;
      first
        .work()
        .catch((error: unknown) => log.warn({ error: String(error) }, "background work failed"))
        .finally(() => {
          running -= 1;
          held -= first.bytes;
          next();
        });
    }
    if (running > 0) return;
    for (const resolve of whenIdle) resolve();
    whenIdle = [];
  }

  return {
    cancel,
    run(work, bytes) {
      if (waiting.length >= MAX_WAITING || held + bytes > MAX_BYTES) {
        dropped += 1;
        return false;
      }
      held += bytes;
      waiting.push({ work, bytes });
      next();
      return true;
    },
    async finish(ms) {
      if (running === 0 && waiting.length === 0) return;
      const patience = setTimeout(() => cancel.cancel("shutdown"), ms);
      await new Promise<void>((resolve) => whenIdle.push(resolve));
      clearTimeout(patience);
    },
    get dropped() {
      return dropped;
    },
  };
}
