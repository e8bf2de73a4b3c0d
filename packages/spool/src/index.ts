export { type AppendDelivery, appendDelivery } from "./append-delivery.ts";
export type { Deliver } from "./drain.ts";
export type { SpoolLimits } from "./limits.ts";
export type { SpoolLog } from "./log.ts";
export { createSpool, type Spool, type SpoolDeps, type SpoolStats } from "./spool.ts";
export type { StartedRequest } from "./started.ts";
