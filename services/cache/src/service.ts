import type { CachePort } from "@unigate/contracts";
import type { CacheDeps } from "./deps.ts";
import { lookup } from "./lookup.ts";
import { store } from "./store.ts";

/** Stored answers, found again by exactly the same request (mode `simple`). */
export function createCacheService(deps: CacheDeps): CachePort {
  return {
    lookup: (request) => lookup(deps, request),
    store: (request) => store(deps, request),
  };
}
