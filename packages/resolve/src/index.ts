export { createResolver } from "./resolver.ts";
export type { Resolution, Resolver, ResolverDeps, ResolverLimits, ResolverStats, ResourceKind, ResourceRef } from "./types.ts";
