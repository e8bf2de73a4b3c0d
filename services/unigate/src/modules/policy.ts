import { ControlDefinition } from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { createPolicyService } from "@unigate/policy";
import { createMemoryCounters, createRedisCounters, StoreLostError } from "@unigate/storage";
import type { Host, RunningService } from "../module.ts";
import { openServiceRedis } from "./redis.ts";
import { startResolver } from "./resolver.ts";

/**
 * A request may wait for its count: one that passes uncounted is one too many. A Redis that stands still delays only the
 * first requests by this, for then it is given a rest.
 */
const COUNT_MS = 3_000;

export async function startPolicy(host: Host): Promise<RunningService> {
  const redis = await openServiceRedis(host, "policy", COUNT_MS);
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
