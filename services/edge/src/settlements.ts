import type { PolicyPort, Settlement } from "@unigate/contracts";
import { backgroundCall } from "@unigate/core";
import type { Logger } from "@unigate/runtime";

const FLUSH_MS = 20;
const MAX_BATCH = 64;
const MAX_WAITING = 10_000;
const DEADLINE_MS = 2_000;

/** Settlements on their way to policy: batched, bounded, repeated once when a batch fails (it is idempotent). */
export interface Settlements {
  add(settlement: Settlement): void;
  /** Sends what is waiting. */
  flush(): Promise<void>;
  readonly dropped: number;
}

export function createSettlements(policy: PolicyPort, log: Logger): Settlements {
  let waiting: Settlement[] = [];
  let timer: NodeJS.Timeout | null = null;
  let dropped = 0;

  async function send(items: Settlement[]): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt++) {
      try {
        await policy.settle({ items }, backgroundCall(Date.now() + DEADLINE_MS));
        return;
      } catch (error) {
        if (attempt === 1) log.warn({ error: String(error), count: items.length }, "settlements were lost; their leases end them");
      }
    }
  }

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const items = waiting;
    waiting = [];
    return items.length === 0 ? Promise.resolve() : send(items);
  }

  return {
    add(settlement) {
      if (waiting.length >= MAX_WAITING) {
        dropped += 1;
        return;
      }
      waiting.push(settlement);
      if (waiting.length >= MAX_BATCH) void flush();
      else timer ??= setTimeout(() => void flush(), FLUSH_MS);
    },
    flush,
    get dropped() {
      return dropped;
    },
  };
}
