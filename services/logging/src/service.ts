import type { JsonReply, LoggingPort } from "@unigate/contracts";
import type { Logger } from "@unigate/runtime";
import { append, type BatchOutcome } from "./append.ts";
import type { LogStore } from "./log-store.ts";
import { failed, getLog, queryLogs } from "./query.ts";

export interface LoggingDeps {
  readonly store: LogStore;
  readonly log: Pick<Logger, "warn">;
  /** Told what became of each batch, for metrics. Must not throw. */
  readonly onBatch?: (outcome: BatchOutcome) => void;
}

/** logging: keeps records and answers queries over them. */
export function createLoggingService({ store, log, onBatch }: LoggingDeps): LoggingPort {
  return {
    append: (batches) =>
      append(
        store,
        batches,
        (outcome) => {
          onBatch?.(outcome);
          const { refused, reason, detail } = outcome;
          if (refused > 0) log.warn({ refused, reason, detail }, "log records were refused");
        },
        (error) => log.warn({ error: String(error) }, "log records could not be stored; their writer keeps them and tries again"),
      ),
    queryLogs: (query) => answered(log, queryLogs(store, query)),
    getLog: (ref) => answered(log, getLog(store, ref)),
  };
}

/** A store that cannot be used is an outcome, not a fault of the mesh. */
async function answered(log: LoggingDeps["log"], reply: Promise<JsonReply>): Promise<JsonReply> {
  try {
    return await reply;
  } catch (error) {
    log.warn({ error: String(error) }, "logs could not be read");
    return failed("service_unavailable", "The logs cannot be read right now.", "");
  }
}
