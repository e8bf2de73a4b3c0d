import type { Secret } from "@unigate/core";
import type { Kysely } from "kysely";
import { openPgliteEngine } from "./pglite/engine.ts";
import { openPostgresEngine } from "./postgres.ts";

/** Who asks. The embedded database does one thing at a time, and what control waits for goes before logs. */
export type SqlLane = "control" | "logs";

/**
 * One database for all stores of a process, embedded or a server, in one dialect: what PostgreSQL 15 and PGlite both
 * do. Values come back alike from both: bigint as number, numeric and times as text, json parsed, bytea as Buffer.
 * Nothing is opened, imported or connected before the first query.
 */
export interface SqlEngine {
  readonly kind: "postgres" | "pglite";
  /**
   * Kysely over this database. Embedded there is one connection: inside a transaction use the transaction's own
   * Kysely only, another query would wait for it for ever (30 s, then it fails).
   */
  database<T>(lane: SqlLane): Promise<Kysely<T>>;
  /** Kysely for migrations: its statements may take minutes. Destroy it after use. */
  migrator(): Promise<Kysely<unknown>>;
  /** Waits for running statements and closes everything. */
  close(): Promise<void>;
}

export interface SqlOptions {
  /** `postgres://...`; null = the embedded database in `dataDir`. */
  readonly url: Secret | null;
  /** Folder of this process (it holds the lock); the embedded database is `pglite` below it. */
  readonly dataDir: string;
  /** Told of what a person should know. Must not throw. */
  readonly onEvent: (event: SqlEvent) => void;
}

export type SqlEvent =
  /** The embedded database could not be used and was moved aside; an empty one took its place. */
  | { readonly kind: "moved_aside"; readonly folder: string; readonly to: string; readonly cause: Error }
  /** The embedded database was opened, ms. */
  | { readonly kind: "opened"; readonly tookMs: number }
  /** The embedded database ended by itself; the next query opens it again. */
  | { readonly kind: "lost"; readonly cause: Error }
  /** An idle connection to the server broke; the next query makes a new one. */
  | { readonly kind: "disconnected"; readonly cause: Error };

/** Opens nothing yet: see `SqlEngine`. */
export function openSql({ url, dataDir, onEvent }: SqlOptions): SqlEngine {
  return url === null ? openPgliteEngine(dataDir, onEvent) : openPostgresEngine(url, onEvent);
}
