import { existsSync, realpathSync } from "node:fs";
import { type Logger, SettingError, type Settings } from "@unigate/runtime";
import { openSql, type SqlEngine, type SqlEvent } from "@unigate/sql";
import { ownDataDir } from "./data-dir.ts";

const VARIABLE = "UNIGATE_DATABASE_URL";

/**
 * Throws SettingError when the settings name an embedded database for what is more, or less, than one process with all
 * services: it can have one owner only, and the other processes would have none. `sharers` says who they are.
 */
export function refuseEmbedded({ database }: Pick<Settings, "database">, sharers: string): void {
  if (database?.kind !== "pglite") return;
  throw new SettingError(
    VARIABLE,
    "pglite:",
    `postgres://user:password@host:5432/database for ${sharers}: the embedded database in ${database.folder} belongs to one process that runs all services, without workers`,
  );
}

/**
 * The database that the settings name, for all services of this process; null = none. Nothing is connected or opened
 * before its first query. The folder of an embedded one belongs to this process until it is closed: `owned` is a folder
 * that already does. Throws DataDirError when another process has it.
 */
export async function openDatabase(
  { database, dataDir }: Pick<Settings, "database" | "dataDir">,
  owned: string | null,
  log: Pick<Logger, "info" | "warn" | "error">,
): Promise<SqlEngine | null> {
  if (database === null) return null;
  const onEvent = (event: SqlEvent): void => tell(event, log);
  if (database.kind === "postgres") return openSql({ url: database.url, dataDir, onEvent });
  const { folder } = database;
  const lock = owned !== null && isSameFolder(folder, owned) ? null : await ownDataDir(folder, folder === dataDir ? undefined : VARIABLE);
  const engine = openSql({ url: null, dataDir: folder, onEvent });
  return {
    ...engine,
    async close() {
      await engine.close();
      await lock?.release();
    },
  };
}

/** Also by another way, or other links, to it. */
function isSameFolder(one: string, other: string): boolean {
  return one === other || (existsSync(one) && realpathSync(one) === realpathSync(other));
}

function tell(event: SqlEvent, log: Pick<Logger, "info" | "warn" | "error">): void {
  switch (event.kind) {
    case "opened":
      return log.info({ tookMs: event.tookMs }, "the embedded database is open");
    case "moved_aside":
      return log.error(
        { folder: event.folder, movedTo: event.to, cause: event.cause.message },
        "the embedded database could not be opened: it was moved aside and an empty one took its place; what was saved and logged is missing until an export is imported",
      );
    case "lost":
      return log.error({ cause: event.cause.message }, "the embedded database ended by itself; the next query opens it again");
    case "disconnected":
      return log.warn({ cause: event.cause.message }, "a connection to the database broke; the next query makes a new one");
  }
}
