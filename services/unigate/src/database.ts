import type { Logger, Settings } from "@unigate/runtime";
import { openSql, type SqlEngine } from "@unigate/sql";

/** The database that the settings name; null = none. Nothing is connected before its first query. */
export function openDatabase({ databaseUrl, dataDir }: Settings, log: Pick<Logger, "warn">): SqlEngine | null {
  if (databaseUrl === null) return null;
  return openSql({
    url: databaseUrl,
    dataDir,
    onEvent: (event) => log.warn("cause" in event ? { ...event, cause: event.cause.message } : event, "database"),
  });
}
