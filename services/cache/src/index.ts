export type { CacheDeps } from "./deps.ts";
export { createCacheService } from "./service.ts";
