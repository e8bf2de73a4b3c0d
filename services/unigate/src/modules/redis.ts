import { SettingError } from "@unigate/runtime";
import { type LossReason, openRedis, RedisAddressError, type RedisLink, readRedisAddress } from "@unigate/storage";
import type { Host } from "../module.ts";

/**
 * The connection of one service to Redis; null when none is set, and the service keeps its own memory. Each service has
 * one of its own: no limit waits behind a large cached answer. A lost Redis is told once, counted, and no reason to be
 * unready: rates pass, and nothing is found in the cache. `deadlineMs` = of each operation; the link's own by default.
 */
export async function openServiceRedis(host: Host, service: string, deadlineMs?: number): Promise<RedisLink | null> {
  const { redisUrl, redisCluster } = host.settings;
  if (redisUrl === null) return null;
  const link = await openRedis({
    address: readAddress(redisUrl, redisCluster),
    name: `unigate-${service}`,
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    onLost: (why) => host.log.warn({ caller: service, error: why }, "Redis is lost; going on without it"),
    onBack: () => host.log.info({ caller: service }, "Redis is back"),
  });
  host.metrics.gauge(
    `unigate_${service}_redis_open`,
    "1 while Redis is given a rest after failures",
    () => (link.statistics().open ? 1 : 0),
    "each",
  );
  host.metrics.counts(
    `unigate_${service}_redis_failures_total`,
    "operations that Redis did not do in time, by why",
    ["reason"] as const,
    () => Object.entries(link.statistics().failures).map(([reason, count]) => ({ labels: { reason: reason as LossReason }, count })),
  );
  return link;
}

function readAddress(...where: Parameters<typeof readRedisAddress>): ReturnType<typeof readRedisAddress> {
  try {
    return readRedisAddress(...where);
  } catch (error) {
    if (error instanceof RedisAddressError)
      throw new SettingError("UNIGATE_REDIS_URL", "[secret]", `one that can be used: ${error.message}`);
    throw error;
  }
}
