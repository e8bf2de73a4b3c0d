import { type Clock, systemClock } from "@unigate/core";
import { LRUCache } from "lru-cache";
import type { KeyValue } from "./port.ts";

/** What an entry costs beside its bytes: the key's characters and the store's own records. */
const ENTRY_OVERHEAD = 256;

export interface MemoryKeyValueOptions {
  /** All entries together, keys and records included; the least recently used go first. Default 64 MiB. */
  readonly maxBytes?: number;
  /** One value. Default 4 MiB. */
  readonly maxEntryBytes?: number;
  readonly clock?: Clock;
}

/** A KeyValue of this process, bounded by bytes. */
export function createMemoryKeyValue(options: MemoryKeyValueOptions = {}): KeyValue {
  const { maxBytes = 64 * 1024 * 1024, maxEntryBytes = 4 * 1024 * 1024, clock = systemClock } = options;
  let hits = 0;
  let misses = 0;
  let evicted = 0;
  let refused = 0;
  const entries = new LRUCache<string, Buffer>({
    maxSize: maxBytes,
    sizeCalculation: (value, key) => value.length + 2 * key.length + ENTRY_OVERHEAD,
    dispose(_value, _key, reason) {
      if (reason === "evict") evicted += 1;
    },
    perf: clock,
    ttlResolution: 0,
  });
  return {
    async get(key) {
      const value = entries.get(key);
      if (value === undefined) misses += 1;
      else hits += 1;
      return value ?? null;
    },
    async peek(key) {
      return entries.peek(key) ?? null;
    },
    async set(key, value, ttlMs) {
      if (value.length > maxEntryBytes || value.length + 2 * key.length + ENTRY_OVERHEAD > maxBytes) {
        refused += 1;
        entries.delete(key);
        return false;
      }
      entries.set(key, ownBytes(value), { ttl: Math.max(1, Math.ceil(ttlMs)) });
      return true;
    },
    async delete(key) {
      return entries.delete(key);
    },
    statistics() {
      return { hits, misses, evicted, refused, entries: entries.size, bytes: entries.calculatedSize };
    },
  };
}

/** A view would keep the whole buffer below it alive, uncounted. */
function ownBytes(value: Buffer): Buffer {
  if (value.buffer.byteLength === value.byteLength) return value;
  const copy = Buffer.allocUnsafeSlow(value.length);
  value.copy(copy);
  return copy;
}
