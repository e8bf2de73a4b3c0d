import type { LogStore } from "./log-store.ts";
import type { SqlLogStoreDeps } from "./sql/sql-log-store.ts";

/** The store over SQL. Its code is loaded here: a process that keeps its logs in memory does not pay for it. */
export async function openSqlLogStore(deps: SqlLogStoreDeps): Promise<LogStore & { ready(): Promise<void> }> {
  const { createSqlLogStore } = await import("./sql/sql-log-store.ts");
  return createSqlLogStore(deps);
}
