import { ControlDefinition } from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { createPolicyService } from "@unigate/policy";
import { createMemoryCounters, createRedisCounters, StoreLostError } from "@unigate/storage";
import type { Host, RunningService } from "../module.ts";
import { openServiceRedis } from "./redis.ts";
import { startResolver } from "./resolver.ts";

export async function startPolicy(host: Host): Promise<RunningService> {
  const redis = await openServiceRedis(host, "policy");
  const resolver = startResolver(host, host.connect("control", ControlDefinition), "policy");
  const uncounted = host.metrics.counter("unigate_policy_uncounted_total", "scopes of requests that passed without being counted");
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
