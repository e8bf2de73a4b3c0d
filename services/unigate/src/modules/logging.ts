import { systemClock } from "@unigate/core";
import { type BatchOutcome, consumeLogs, createLoggingService, createLogStore, type LogStore, openSqlLogStore } from "@unigate/logging";
import { SchemaError } from "@unigate/sql";
import { openDatabase } from "../database.ts";
import type { Host, RunningService } from "../module.ts";

export async function startLogging(host: Host): Promise<RunningService> {
  const refused = host.metrics.counter("unigate_log_records_refused_total", "log records that could not be stored");
  const expired = host.metrics.counter("unigate_log_records_expired_total", "log records that came after their day was dropped");
  const { store, close } = await openStore(host);
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

/** A database when one is named, else memory: an embedded database would cost more than the requests it tells of. */
async function openStore(host: Host): Promise<{ store: LogStore; close(): Promise<void> }> {
  const engine = openDatabase(host.settings, host.log);
  if (engine === null) return { store: createLogStore(), close: async () => {} };
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
  return {
    store,
    async close() {
      await store.close();
      await engine.close();
    },
  };
}
