import { join, resolve } from "node:path";
import {
  CacheDefinition,
  ConnectorDefinition,
  ControlDefinition,
  GuardrailDefinition,
  LoggingDefinition,
  PolicyDefinition,
  RouterDefinition,
} from "@unigate/contracts";
import { systemClock } from "@unigate/core";
import { startEdge } from "@unigate/edge";
import { openPrices } from "@unigate/prices";
import { providers } from "@unigate/providers";
import { createSpool, type Spool, type SpoolStats } from "@unigate/spool";
import type { Host, RunningService } from "../module.ts";
import { startDelivery } from "./log-delivery.ts";
import { startResolver } from "./resolver.ts";

/** In this process, or in the primary of this worker, it is never lost alone: late it is on a busy machine, and limits hold then too. */
const RESERVE_NEARBY_MS = 30_000;

export async function startEdgeService(host: Host): Promise<RunningService> {
  const { settings } = host;
  const control = host.connect("control", ControlDefinition);
  const logging = host.connect("logging", LoggingDefinition);
  const resolver = startResolver(host, control, "edge");
  const dropped = host.metrics.counter("unigate_log_records_dropped_total", "log records lost because too many were waiting");
  const prices = await openPrices(providers);
  const delivery = await startDelivery(host, logging);
  const spool = createSpool({
    dir: join(resolve(settings.dataDir), "spool"),
    deliver: delivery.deliver,
    log: host.log,
    onDrop: (count) => dropped.inc(count),
  });
  countSpool(host, spool);
  const edge = await startEdge(
    {
      control,
      logging,
      router: host.connect("router", RouterDefinition),
      connector: host.connect("connector", ConnectorDefinition),
      cache: host.connect("cache", CacheDefinition),
      policy: host.connect("policy", PolicyDefinition),
      guardrail: host.connect("guardrail", GuardrailDefinition),
      resolver,
      spool,
      prices,
      limits: {
        bodyLimit: settings.bodyLimit,
        uploadLimit: settings.uploadLimit,
        inflightBytes: settings.inflightBytes,
        maxInflight: settings.maxInflight,
        maxRequestMs: settings.maxRequestSeconds * 1_000,
        heartbeatMs: settings.heartbeatMs,
        reserveMs: isNearby(settings.addresses["policy"]) ? RESERVE_NEARBY_MS : settings.limitTimeoutMs,
        traceSample: settings.traceSample,
        corsOrigins: settings.corsOrigins,
      },
      clock: systemClock,
      log: host.log,
      processMetrics: host.metrics,
      health: host.health,
      draw: Math.random,
    },
    settings.host,
    settings.port,
    host.version,
  );
  return {
    implementation: null,
    facts: { httpPort: edge.port },
    stopAccepting: edge.stopAccepting,
    hurry: edge.hurry,
    async drain(ms, handOverMs) {
      await edge.drain(ms);
      delivery.handOver();
      await spool.flush(Date.now() + handOverMs);
    },
    async stop() {
      await resolver.stop();
      await spool.close();
      await delivery.close();
    },
  };
}

function isNearby(address: string | undefined): boolean {
  return address === undefined || address.startsWith("unix:");
}

/** What stands in the spool, read when the metrics are asked for. */
function countSpool(host: Host, spool: Spool): void {
  const gauge = (name: string, help: string, field: keyof SpoolStats, over: "sum" | "each" = "sum"): void =>
    host.metrics.gauge(`unigate_spool_${name}`, help, () => spool.stats()[field], over);
  gauge("records", "log records that are not delivered", "records");
  gauge("memory_bytes", "bytes of them that are in memory", "bytes");
  gauge("disk_bytes", "bytes of the spool on disk", "diskBytes");
  gauge("oldest_milliseconds", "age of the oldest record that is not delivered", "oldestMs", "each");
  gauge("failing", "1 while the spool's disk cannot be written", "failing", "each");
  gauge("open_requests", "admitted requests that have not ended", "openRequests");
}
