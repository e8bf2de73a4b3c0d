/** Counts since the store was made, and what it holds now. A remote store says 0 where only its server knows. */
export interface KeyValueStatistics {
  readonly hits: number;
  readonly misses: number;
  /** Entries that made room for others. */
  readonly evicted: number;
  /** Values that were too big to be kept. */
  readonly refused: number;
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Bytes under a key for a while. Anything may be forgotten at any time: what must not be lost is kept elsewhere.
 * A method rejects only when the store itself cannot be reached.
 */
export interface KeyValue {
  /** Null when there is nothing, or no longer. */
  get(key: string): Promise<Buffer | null>;
  /** Like `get`, but neither counted nor taken as use. */
  peek(key: string): Promise<Buffer | null>;
  /** Keeps `value` for `ttlMs` milliseconds (at least 1). False = too big, and what was there is gone. */
  set(key: string, value: Buffer, ttlMs: number): Promise<boolean>;
  /** Whether there was something to delete. */
  delete(key: string): Promise<boolean>;
  statistics(): KeyValueStatistics;
}
