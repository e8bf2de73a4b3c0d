export type { Kysely } from "kysely";
export { openSql, type SqlEngine, type SqlEvent, type SqlLane, type SqlOptions } from "./engine.ts";
export { SqlFault, SqlUnavailable, sqlState } from "./fault.ts";
export { migrateSchema, SchemaError, type SchemaMigrations } from "./migrate.ts";
export { hasEmbeddedDatabase } from "./pglite/folder.ts";
export { type RawResult, runSql } from "./raw.ts";
