import { migrateSchema, type SqlEngine } from "@unigate/sql";

/** Brings the schema "logs" to the version of this program; gives the names of the migrations that ran. Throws as migrateSchema does. */
export async function migrateLogs(engine: SqlEngine): Promise<string[]> {
  const { logMigrations } = await import("./sql/migrations.ts");
  return migrateSchema(engine, logMigrations);
}
