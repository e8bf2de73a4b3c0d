import { ControlDefinition } from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { createPolicyService } from "@unigate/policy";
import { createMemoryCounters, createRedisCounters, StoreLostError } from "@unigate/storage";
import type { Host, RunningService } from "../module.ts";
import { openServiceRedis } from "./redis.ts";
import { startResolver } from "./resolver.ts";

/** Redis's share of the time that a request waits to be counted; the rest is the way to policy and back. */
const REDIS_SHARE = 2 / 3;

export async function startPolicy(host: Host): Promise<RunningService> {
  const redis = await openServiceRedis(host, "policy", Math.round(host.settings.limitTimeoutMs * REDIS_SHARE));
  const resolver = startResolver(host, host.connect("control", ControlDefinition), "policy");
  const uncounted = host.metrics.counter("unigate_policy_uncounted_total", "requests and targets that passed limits without being counted");
  const implementation = createPolicyService({
    counters: redis === null ? createMemoryCounters({ clock: systemClock }) : createRedisCounters(redis),
    resolver,
    onStoreLost(cause) {
      uncounted.inc();
      // The connection tells of a lost Redis once; a line a request would make a bad time worse.
      if (!(cause instanceof StoreLostError)) host.log.warn({ error: String(cause) }, "limits could not be counted; the request passes");
    },
  });
  return {
    implementation,
    async stop() {
      await resolver.stop();
      redis?.close();
    },
  };
}
