import { availableParallelism } from "node:os";
import type { Settings } from "@unigate/runtime";
import type { ServiceName } from "../module.ts";
import { startOrder, TargetError } from "../modules.ts";

const MOST_WORKERS = 64;

/** What scales with the processors. */
const SCALING: ReadonlySet<ServiceName> = new Set(["edge", "connector", "guardrail"]);
/** What is one over all processes, and so scales too once it is kept in Redis. */
const IN_REDIS: ReadonlySet<ServiceName> = new Set(["policy", "cache", "router"]);

/** Who runs what when there are workers; both in start order. */
export interface Split {
  readonly names: readonly ServiceName[];
  /** What has state, once. */
  readonly primary: readonly ServiceName[];
  /** What each worker runs. */
  readonly worker: readonly ServiceName[];
}

/** How many workers the settings ask for; 1 = none, everything in one process. */
export function workerCount({ workers }: Settings): number {
  return workers === "auto" ? Math.min(availableParallelism(), MOST_WORKERS) : workers;
}

/** Throws TargetError where workers would have nothing to share. */
export function splitServices(settings: Settings): Split {
  const names = startOrder(settings.targets, settings.addresses);
  if (!names.includes("edge")) {
    throw new TargetError(
      `workers share the HTTP port, and ${names.join(", ")} has none: leave --workers and UNIGATE_WORKERS out, or add edge to --target; run more processes of the other services instead`,
    );
  }
  const inWorkers = (name: ServiceName): boolean => SCALING.has(name) || (settings.redisUrl !== null && IN_REDIS.has(name));
  return { names, primary: names.filter((name) => !inWorkers(name)), worker: names.filter(inWorkers) };
}
