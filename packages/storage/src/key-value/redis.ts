import { StoreLostError } from "../redis/guard.ts";
import type { RedisLink } from "../redis/link.ts";
import type { KeyValue } from "./port.ts";

/** Writing is off the request's path and may be some MiB: it gets longer than what a request waits for. */
const SET_DEADLINE_MS = 1_000;

export interface RedisKeyValueOptions {
  /** One value. Default 4 MiB. */
  readonly maxEntryBytes?: number;
  /** Bytes on their way to Redis at once; more are not kept. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
}

/** A KeyValue in Redis, shared by all replicas; what makes room for what is Redis's own `maxmemory-policy`. */
export function createRedisKeyValue(link: RedisLink, options: RedisKeyValueOptions = {}): KeyValue {
  const { maxEntryBytes = 4 * 1024 * 1024, maxWaitingBytes = 64 * 1024 * 1024 } = options;
  let hits = 0;
  let misses = 0;
  let refused = 0;
  let waitingBytes = 0;
  const read = (key: string): Promise<Buffer | null> => link.run((client) => client.getBuffer(key));
  const unlink = (key: string): Promise<number> => link.run((client) => client.unlink(key));
  return {
    async get(key) {
      const value = await read(key);
      if (value === null) misses += 1;
      else hits += 1;
      return value;
    },
    peek: read,
    async set(key, value, ttlMs) {
      if (value.length > maxEntryBytes) {
        refused += 1;
        await unlink(key);
        return false;
      }
      if (waitingBytes + value.length > maxWaitingBytes) throw new StoreLostError("busy", "too many bytes wait to be kept");
      await link.run(async (client) => {
        waitingBytes += value.length;
        try {
          await client.set(key, value, "PX", Math.max(1, Math.ceil(ttlMs)));
        } finally {
          waitingBytes -= value.length;
        }
      }, SET_DEADLINE_MS);
      return true;
    },
    async delete(key) {
      return (await unlink(key)) > 0;
    },
    statistics() {
      return { hits, misses, evicted: 0, refused, entries: 0, bytes: 0 };
    },
  };
}
