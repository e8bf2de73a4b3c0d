import { migrateSchema, type SqlEngine } from "@unigate/sql";

/** Brings the schema "control" to the version of this program; gives the names of the migrations that ran. Throws as migrateSchema does. */
export async function migrateSaved(engine: SqlEngine): Promise<string[]> {
  const { controlMigrations } = await import("./migrations.ts");
  return migrateSchema(engine, controlMigrations);
}
