import { LRUCache } from "lru-cache";

/** Targets whose times are kept, the most recently used ones. */
const MOST_TARGETS = 2_000;
/** Times of one target, the last ones. */
const MOST_TIMES = 200;
/** Fewer say nothing. */
const FEWEST_TIMES = 20;

/** How long targets took until their first content, as this process saw it, ms. */
export interface ContentTimes {
  add(target: string, ms: number): void;
  /** What `percent` of the last times did not pass; null = too few are known. */
  percentile(target: string, percent: number): number | null;
}

interface Times {
  readonly last: Float64Array;
  count: number;
  /** In order; null once another one came. */
  sorted: Float64Array | null;
}

export function createContentTimes(): ContentTimes {
  const known = new LRUCache<string, Times>({ max: MOST_TARGETS });
  return {
    add(target, ms) {
      let times = known.get(target);
      if (times === undefined) known.set(target, (times = { last: new Float64Array(MOST_TIMES), count: 0, sorted: null }));
      times.last[times.count % MOST_TIMES] = ms;
      times.count += 1;
      times.sorted = null;
    },
    percentile(target, percent) {
      const times = known.get(target);
      if (times === undefined || times.count < FEWEST_TIMES) return null;
      times.sorted ??= times.last.slice(0, Math.min(times.count, MOST_TIMES)).sort();
      return times.sorted[Math.ceil((times.sorted.length * percent) / 100) - 1] ?? null;
    },
  };
}
