/** Where a pulled stream gets its messages from. */
export interface Feed {
  /** Asks for one message: answered by one `deliver`, `finish` or `fail`, now or later, before the next is asked for. */
  pull(): void;
  /** The consumer went away before the end. */
  stop(): void;
}

interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(reason: unknown): void;
}

/**
 * Messages that are fetched one by one, each only once its consumer asks: nothing is buffered here. It can be iterated
 * once. Unlike a generator it ends at once, also while a message is being waited for; a failure stays: whoever asks
 * again gets it again, so a broken stream can never be taken for one that ended.
 */
export class PulledStream<T> implements AsyncIterableIterator<T, undefined> {
  readonly #open: (stream: PulledStream<T>) => Feed;
  #feed: Feed | null = null;
  #state: "open" | "ended" | "failed" = "open";
  #failure: unknown = null;
  #waiting: Waiter<T>[] = [];

  /** `open` runs when the first message is asked for; it may already fail the stream that it is given. */
  constructor(open: (stream: PulledStream<T>) => Feed) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#state === "ended") return Promise.resolve({ done: true, value: undefined });
    if (this.#state === "failed") return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#waiting.length > 1) return;
      this.#feed ??= this.#open(this);
      if (this.#waiting.length > 0) this.#feed.pull();
    });
  }

  /** What `break` of a `for await` calls. */
  return(): Promise<IteratorResult<T, undefined>> {
    if (this.#state === "open") {
      this.finish();
      this.#feed?.stop();
    }
    return Promise.resolve({ done: true, value: undefined });
  }

  deliver(value: T): void {
    if (this.#state !== "open") return;
    this.#waiting.shift()?.resolve({ done: false, value });
    if (this.#waiting.length > 0) this.#feed?.pull();
  }

  finish(): void {
    if (this.#state !== "open") return;
    this.#state = "ended";
    for (const waiter of this.#take()) waiter.resolve({ done: true, value: undefined });
  }

  fail(reason: unknown): void {
    if (this.#state !== "open") return;
    this.#state = "failed";
    this.#failure = reason;
    for (const waiter of this.#take()) waiter.reject(reason);
  }

  #take(): Waiter<T>[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }
}

/** The feed of a stream that failed while it was opened. */
export const NO_FEED: Feed = { pull() {}, stop() {} };

/** The next message of an iterator; what it throws in place of rejecting is a rejection too. */
export function askNext<T>(iterator: AsyncIterator<T>): Promise<IteratorResult<T>> {
  try {
    return iterator.next();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Lets an iterator go: its `finally` runs, now or when it gets there. Nobody waits for it and its errors are dropped. */
export function letGo(iterator: AsyncIterator<unknown>): void {
  try {
    iterator.return?.().then(undefined, () => {});
  } catch {
    // An iterator that cannot even be let go has no finally to run.
  }
}
