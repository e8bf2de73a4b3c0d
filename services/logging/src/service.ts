import type { LoggingPort } from "@unigate/contracts";
import type { Logger } from "@unigate/runtime";
import { append } from "./append.ts";
import type { LogStore } from "./log-store.ts";
import { getLog, queryLogs } from "./query.ts";

export interface LoggingDeps {
  readonly store: LogStore;
  readonly log: Pick<Logger, "warn">;
  /** Told of records that cannot be stored, for a metric. Must not throw. */
  readonly onRefused?: (records: number) => void;
}

/** logging: keeps the last records in memory and answers queries over them. */
export function createLoggingService({ store, log, onRefused }: LoggingDeps): LoggingPort {
  return {
    append: (batches) =>
      append(store, batches, ({ refused, reason, detail }) => {
        onRefused?.(refused);
        log.warn({ refused, reason, detail }, "log records were refused");
      }),
    queryLogs: async (query) => queryLogs(store, query),
    getLog: async (ref) => getLog(store, ref),
  };
}
