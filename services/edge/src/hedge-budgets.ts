import { LRUCache } from "lru-cache";

/** Configs whose budgets are kept, the most recently used ones; one that is forgotten begins anew. */
const MOST_BUDGETS = 10_000;
/** Additional calls that may be saved up. */
const MOST_SAVED = 10;
/** So that the first slow request of a config may hedge. */
const AT_FIRST = 1;

/**
 * The additional calls that hedging may make, by organisation and config. Each edge keeps to its share of its own
 * requests, and so do all of them together: nothing is shared between processes.
 */
export interface HedgeBudgets {
  /** A request passes a hedge: its part of an additional call is put by, `percent` of one. */
  earn(budget: string, percent: number): void;
  /** Takes one additional call; false = there is none, or none are allowed. */
  take(budget: string, percent: number): boolean;
}

export function createHedgeBudgets(): HedgeBudgets {
  const saved = new LRUCache<string, { calls: number }>({ max: MOST_BUDGETS });

  function of(budget: string): { calls: number } {
    let found = saved.get(budget);
    if (found === undefined) saved.set(budget, (found = { calls: AT_FIRST }));
    return found;
  }

  return {
    earn(budget, percent) {
      const found = of(budget);
      found.calls = Math.min(MOST_SAVED, found.calls + percent / 100);
    },
    take(budget, percent) {
      const found = of(budget);
      if (percent <= 0 || found.calls < 1) return false;
      found.calls -= 1;
      return true;
    },
  };
}
