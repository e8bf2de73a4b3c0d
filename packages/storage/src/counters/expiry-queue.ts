/** `at` is Unix ms. */
export interface Expiry {
  readonly at: number;
  readonly key: string;
}

/** Keys by the time they end: a binary heap. A key may be in it more than once. */
export class ExpiryQueue {
  #heap: Expiry[] = [];

  get size(): number {
    return this.#heap.length;
  }

  push(at: number, key: string): void {
    const heap = this.#heap;
    let hole = heap.length;
    const added = { at, key };
    heap.push(added);
    while (hole > 0) {
      const up = (hole - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || parent.at <= at) break;
      heap[hole] = parent;
      hole = up;
    }
    heap[hole] = added;
  }

  /** Holds these and nothing else; `entries` is taken over. */
  rebuild(entries: Expiry[]): void {
    // A sorted array is a heap.
    this.#heap = entries.sort((one, other) => one.at - other.at);
  }

  /** Takes out the key that ends first, if it ends at `now` or before. */
  popDue(now: number): string | null {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.at > now) return null;
    const moved = heap.pop();
    if (moved !== undefined && heap.length > 0) this.#sink(moved);
    return first.key;
  }

  #sink(moved: Expiry): void {
    const heap = this.#heap;
    let hole = 0;
    for (;;) {
      const left = heap[2 * hole + 1];
      const right = heap[2 * hole + 2];
      if (left === undefined) break;
      const rightFirst = right !== undefined && right.at < left.at;
      const child = rightFirst ? right : left;
      if (child.at >= moved.at) break;
      heap[hole] = child;
      hole = 2 * hole + (rightFirst ? 2 : 1);
    }
    heap[hole] = moved;
  }
}
