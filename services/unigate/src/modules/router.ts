import { systemClock } from "@unigate/core";
import { createRouterService, type RouterService, TICK_MS } from "@unigate/router";
import { createMemoryBreakers, createMemoryMeasurements, createRedisBreakers, createRedisMeasurements } from "@unigate/storage";
import type { Host, RunningService } from "../module.ts";
import { openServiceRedis } from "./redis.ts";

/** Nobody waits for an exchange: one that is late is better than none. */
const EXCHANGE_MS = 1_000;

export async function startRouter(host: Host): Promise<RunningService> {
  const redis = await openServiceRedis(host, "router", EXCHANGE_MS);
  const breakers = redis === null ? createMemoryBreakers() : createRedisBreakers(redis);
  const measurements = redis === null ? createMemoryMeasurements() : createRedisMeasurements(redis);
  const router = createRouterService({ draw: Math.random, clock: systemClock, breakers, measurements });
  countRouter(host, router);
  let ticking = false;
  const timer = setInterval(() => {
    if (ticking) return;
    ticking = true;
    router
      .tick()
      .catch((error: unknown) => host.log.error({ error: String(error) }, "live state was not exchanged"))
      .finally(() => {
        ticking = false;
      });
  }, TICK_MS);
  return {
    implementation: router.port,
    async stop() {
      clearInterval(timer);
      redis?.close();
    },
  };
}

function countRouter({ metrics }: Host, router: RouterService): void {
  const count = (name: string, help: string, read: () => number): void =>
    metrics.counts(name, help, [], () => [{ labels: {}, count: read() }]);
  metrics.gauge(
    "unigate_router_breakers_open",
    "circuit breakers that are open, as this process knows",
    () => router.statistics().open,
    "each",
  );
  metrics.counts(
    "unigate_router_breaker_changes_total",
    "circuit breakers that opened or closed, as this process saw it",
    ["to"] as const,
    () => Object.entries(router.statistics().changes).map(([to, count]) => ({ labels: { to }, count })),
  );
  count(
    "unigate_router_outcomes_dropped_total",
    "outcomes not counted because too many targets had failed",
    () => router.statistics().dropped,
  );
  count(
    "unigate_router_outcomes_unknown_total",
    "outcomes of a config or target that is not known here",
    () => router.statistics().unknown,
  );
  count("unigate_router_exchanges_lost_total", "exchanges with other replicas that the store did not do", () => router.statistics().lost);
}
