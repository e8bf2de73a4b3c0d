import { createCacheService } from "@unigate/cache";
import { systemClock } from "@unigate/core";
import { createMemoryKeyValue } from "@unigate/storage";
import type { RunningService } from "../module.ts";

export async function startCache(): Promise<RunningService> {
  return { implementation: createCacheService({ store: createMemoryKeyValue({ clock: systemClock }), clock: systemClock }) };
}
