import {
  CacheDefinition,
  ConnectorDefinition,
  ControlDefinition,
  GuardrailDefinition,
  LoggingDefinition,
  PolicyDefinition,
  RouterDefinition,
} from "@unigate/contracts";
import { newId, systemClock } from "@unigate/core";
import { startEdge } from "@unigate/edge";
import { createSink } from "@unigate/events";
import type { Host, RunningService } from "../module.ts";
import { startResolver } from "./resolver.ts";

const FLUSH_MS = 10_000;

export async function startEdgeService(host: Host): Promise<RunningService> {
  const { settings } = host;
  const control = host.connect("control", ControlDefinition);
  const logging = host.connect("logging", LoggingDefinition);
  const resolver = startResolver(host, control, "edge");
  const dropped = host.metrics.counter("unigate_log_records_dropped_total", "log records lost because too many were waiting");
  const sink = createSink({ append: logging.append, spoolId: newId("edge-"), onDrop: (count) => dropped.inc(count) });
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
      sink,
      limits: {
        bodyLimit: settings.bodyLimit,
        uploadLimit: settings.uploadLimit,
        inflightBytes: settings.inflightBytes,
        maxInflight: settings.maxInflight,
        maxRequestMs: settings.maxRequestSeconds * 1_000,
        heartbeatMs: settings.heartbeatMs,
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
    async drain(ms) {
      await edge.drain(ms);
      await sink.flush(Date.now() + FLUSH_MS);
    },
    async stop() {
      await resolver.stop();
      await sink.close();
    },
  };
}
