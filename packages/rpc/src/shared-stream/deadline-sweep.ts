/** Deadlines that pass within this time of each other are looked at together, ms. */
const GRANULARITY_MS = 10;

/**
 * The deadlines of many calls by one timer: it is set for the earliest that was seen, and looks at all calls when it
 * fires. A call that ends before costs nothing, where a timer each would be set and cleared for all.
 */
export class DeadlineSweep<T extends { readonly deadline: number }> {
  readonly #calls: () => Iterable<T>;
  readonly #expire: (call: T) => void;
  #timer: NodeJS.Timeout | undefined;
  #at = Number.POSITIVE_INFINITY;

  /** `expire` gets each of the `calls` whose deadline (Unix ms) has passed, and must take it out of them. */
  constructor(calls: () => Iterable<T>, expire: (call: T) => void) {
    this.#calls = calls;
    this.#expire = expire;
  }

  /** Says that there is a call with this deadline now. Infinity is none. */
  watch(deadline: number): void {
    if (deadline < this.#at) this.#set(deadline, 1);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#at = Number.POSITIVE_INFINITY;
  }

  #set(at: number, leastMs: number): void {
    clearTimeout(this.#timer);
    this.#at = at;
    this.#timer = setTimeout(() => this.#sweep(), Math.min(Math.max(at - Date.now(), leastMs), LONGEST_MS));
    this.#timer.unref();
  }

  #sweep(): void {
    const now = Date.now();
    let next = Number.POSITIVE_INFINITY;
    this.#at = next;
    const passed: T[] = [];
    for (const call of this.#calls()) {
      if (call.deadline <= now) passed.push(call);
      else if (call.deadline < next) next = call.deadline;
    }
    for (const call of passed) this.#expire(call);
    if (next < this.#at) this.#set(next, GRANULARITY_MS);
  }
}

/** What a Node timer can wait; what lies beyond is looked at again then. */
const LONGEST_MS = 2 ** 31 - 1;
