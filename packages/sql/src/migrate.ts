import type { Kysely, Migration } from "kysely";
import type { SqlEngine } from "./engine.ts";
import { sqlState } from "./fault.ts";
import { runSql } from "./raw.ts";

/** Names of what is kept in each schema about its own version. */
const TABLE = "schema_migration";
const LOCK_TABLE = "schema_migration_lock";
const UNDEFINED_TABLE = "42P01";

/** The schema cannot be brought to the version of this program. Told to the person who starts it. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

/**
 * A schema with its migrations by name ("0001-records"): forward only, in the order of their names. Each one leaves the
 * schema usable for the version before it: first expand, then contract in a later release.
 */
export interface SchemaMigrations {
  readonly schema: "control" | "logs";
  readonly migrations: Readonly<Record<string, Pick<Migration, "up">>>;
}

/**
 * Brings a schema to the version of this program; gives the names of what ran. One runner at a time, others wait for
 * it and find nothing left to do. All of it happens, or nothing: when a migration fails the schema stays as it was and
 * SchemaError names it. SchemaError too when the database is newer than the program.
 */
export async function migrateSchema(engine: SqlEngine, { schema, migrations }: SchemaMigrations): Promise<string[]> {
  const known = Object.keys(migrations).sort();
  const database = await engine.migrator();
  try {
    const before = await appliedIn(database, schema);
    refuseNewer(schema, before, known);
    if (before.length === known.length) return [];
    return await run(database, schema, migrations, known);
  } finally {
    await database.destroy();
  }
}

async function run(
  database: Kysely<unknown>,
  schema: SchemaMigrations["schema"],
  migrations: SchemaMigrations["migrations"],
  known: readonly string[],
): Promise<string[]> {
  const { Migrator } = await import("kysely");
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => ({ ...migrations }) },
    migrationTableSchema: schema,
    migrationTableName: TABLE,
    migrationLockTableName: LOCK_TABLE,
  });
  const { error, results = [] } = await migrator.migrateToLatest();
  if (error === undefined) return results.map(({ migrationName }) => migrationName);
  // Another program may have migrated further while this one waited for the lock.
  refuseNewer(schema, await appliedIn(database, schema), known);
  const failed = results.find(({ status }) => status === "Error");
  const where = failed === undefined ? "" : ` at "${failed.migrationName}"`;
  const why = error instanceof Error ? error.message : "unknown";
  throw new SchemaError(`the database schema "${schema}" could not be migrated${where}: ${why}. It was left as it was`, { cause: error });
}

/** Names of what ran in this schema so far, in order; none when the schema is not there. */
async function appliedIn(database: Kysely<unknown>, schema: SchemaMigrations["schema"]): Promise<string[]> {
  try {
    const { rows } = await runSql<{ name: string }>(database, `select name from ${schema}.${TABLE}`);
    return rows.map(({ name }) => name).sort();
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return [];
    throw error;
  }
}

function refuseNewer(schema: string, applied: readonly string[], known: readonly string[]): void {
  const unknown = applied.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const [found, own] = [applied.at(-1) ?? "", known.at(-1) ?? "none"];
  throw new SchemaError(
    `the database schema "${schema}" is at version "${found}", newer than "${own}" of this program: start the newer program, or give this one a database of its own (UNIGATE_DATABASE_URL, UNIGATE_DATA_DIR)`,
  );
}
