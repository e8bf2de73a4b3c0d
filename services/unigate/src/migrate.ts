import { migrateSaved } from "@unigate/control";
import { migrateLogs } from "@unigate/logging";
import { createLogger, FlagError, type Settings } from "@unigate/runtime";
import { SchemaError } from "@unigate/sql";
import { openDatabase } from "./database.ts";

/**
 * Brings every schema of the database that the settings name to the version of this program, as each start of control
 * and logging does, and gives a line of what it did for each. Other processes may use the database meanwhile. Throws
 * FlagError without a database, and SchemaError when it cannot be reached, is newer, or a migration fails.
 */
export async function migrateDatabase(settings: Settings): Promise<readonly string[]> {
  const database = await openDatabase(settings, null, createLogger(settings.logLevel, "unigate"));
  if (database === null) throw new FlagError("--migrate needs a database: set UNIGATE_DATABASE_URL");
  try {
    const done = { control: await migrateSaved(database), logs: await migrateLogs(database) };
    return Object.entries(done).map(([schema, ran]) =>
      ran.length === 0 ? `the database schema "${schema}" is up to date` : `the database schema "${schema}": ${ran.join(", ")}`,
    );
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    throw new SchemaError(`the database (UNIGATE_DATABASE_URL) cannot be migrated: ${reasonOf(error)}`, { cause: error });
  } finally {
    await database.close();
  }
}

/** A host with several addresses refuses by an error without a text of its own. */
function reasonOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}
