import { createLoggingService, createLogStore } from "@unigate/logging";
import type { Host, RunningService } from "../module.ts";

export async function startLogging(host: Host): Promise<RunningService> {
  const refused = host.metrics.counter("unigate_log_records_refused_total", "log records that could not be stored");
  const store = createLogStore();
  return { implementation: createLoggingService({ store, log: host.log, onRefused: (records) => refused.inc(records) }) };
}
