import { join } from "node:path";
import { systemClock } from "@unigate/core";
import { createEgressGuard, createSender } from "@unigate/http";
import {
  type BatchOutcome,
  consumeLogs,
  createLoggingService,
  createSpanExport,
  type LogStore,
  openKeptLogStore,
  openSqlLogStore,
  withSpanExport,
} from "@unigate/logging";
import { SchemaError } from "@unigate/sql";
import type { Host, RunningService } from "../module.ts";

export async function startLogging(host: Host): Promise<RunningService> {
  const refused = host.metrics.counter("unigate_log_records_refused_total", "log records that could not be stored");
  const expired = host.metrics.counter("unigate_log_records_expired_total", "log records that came after their day was dropped");
  const opened = await openStore(host);
  const { store, close } = exported(host, opened);
  const onBatch = (outcome: BatchOutcome): void => {
    if (outcome.refused > 0) refused.inc(outcome.refused);
    if (outcome.expired > 0) expired.inc(outcome.expired);
  };
  const implementation = createLoggingService({ store, log: host.log, onBatch });
  const { kafka } = host.settings;
  if (kafka === null) return { implementation, stop: close };
  const consumer = await consumeLogs({ connection: kafka, store, log: host.log, onBatch });
  host.metrics.gauge("unigate_logging_kafka_partitions", "partitions of the log topics that this process reads", consumer.partitions);
  return {
    implementation,
    async stop() {
      await consumer.stop();
      await close();
    },
  };
}

interface OpenedStore {
  readonly store: LogStore;
  close(): Promise<void>;
}

/** With a collector, the spans of what is stored go to it. */
function exported(host: Host, { store, close }: OpenedStore): OpenedStore {
  const { otlp } = host.settings;
  if (otlp === null) return { store, close };
  // Its address is the operator's own: the guard is for those of users.
  const sender = createSender({ guard: createEgressGuard({ allow: "" }) });
  const dropped = host.metrics.counter(
    "unigate_otlp_dropped_total",
    "spans that the collector did not take, or that came while too many waited",
  );
  const spans = createSpanExport({ ...otlp, sender, log: host.log, random: Math.random, onDrop: (count) => dropped.inc(count) });
  host.metrics.gauge("unigate_otlp_waiting_spans", "spans that wait for the collector", () => spans.waiting());
  return {
    store: withSpanExport(store, spans),
    async close() {
      await spans.stop();
      sender.close();
      await close();
    },
  };
}

/** The database when one is named, else files: an embedded one costs more than the requests it tells of. */
async function openStore(host: Host): Promise<OpenedStore> {
  const engine = host.database;
  if (engine === null) {
    const onTrouble = (error: unknown): void => {
      host.log.warn({ error: String(error) }, "logs cannot be written to the data folder; they are kept in memory only");
    };
    const store = openKeptLogStore({ folder: join(host.settings.dataDir, "logs"), onTrouble });
    return { store, close: store.close };
  }
  const store = await openSqlLogStore({
    engine,
    clock: systemClock,
    onTrouble: (error) => host.log.warn({ error: String(error) }, "log partitions could not be looked after"),
  });
  await store.ready().catch((error: unknown) => {
    if (error instanceof SchemaError) throw error;
    // Records wait at the edge; each batch tries again.
    host.log.warn({ error: String(error) }, "the database cannot be used yet; requests go on without it");
  });
  return { store, close: () => store.close() };
}
