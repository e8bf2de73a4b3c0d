import { createCacheService } from "@unigate/cache";
import { systemClock } from "@unigate/core";
import { createMemoryKeyValue, createRedisKeyValue } from "@unigate/storage";
import type { Host, RunningService } from "../module.ts";
import { openServiceRedis } from "./redis.ts";

export async function startCache(host: Host): Promise<RunningService> {
  const redis = await openServiceRedis(host, "cache");
  const store = redis === null ? createMemoryKeyValue({ clock: systemClock }) : createRedisKeyValue(redis);
  return { implementation: createCacheService({ store, clock: systemClock }), stop: async () => redis?.close() };
}
