import type { Secret } from "@unigate/core";
import type { Kysely } from "kysely";
import type { Pool, PoolConfig } from "pg";
import type { SqlEngine, SqlEvent, SqlLane } from "./engine.ts";
import { INT8, TEXT_TYPES, wholeNumber } from "./values.ts";

/** Connections of one process for one lane. */
const CONNECTIONS = 4;
const CONNECT_MS = 5_000;
const IDLE_MS = 30_000;
/** Longest statement, and longest wait for a lock, of everything but migrations. */
const STATEMENT_MS = 10_000;
const LOCK_MS = 5_000;
const MIGRATION_MS = 600_000;
/** What the client waits beyond the server's own limit, for a server that is gone. */
const SILENCE_MS = 5_000;

/** A PostgreSQL server (15 or later). TLS is asked for in the URL: `?sslmode=verify-full&sslrootcert=...`. */
export function openPostgresEngine(url: Secret, onEvent: (event: SqlEvent) => void): SqlEngine {
  const lanes = new Map<SqlLane, Promise<Kysely<unknown>>>();
  let closed = false;

  async function open(name: string, connections: number, statementMs: number): Promise<Kysely<unknown>> {
    const [{ Kysely, PostgresDialect }, pool] = await Promise.all([
      import("kysely"),
      createPool(url, name, connections, statementMs, (cause) => onEvent({ kind: "disconnected", cause })),
    ]);
    return new Kysely({ dialect: new PostgresDialect({ pool }) });
  }

  return {
    kind: "postgres",
    async database<T>(lane: SqlLane) {
      if (closed) throw new Error("the database is closed");
      let opening = lanes.get(lane);
      if (opening === undefined) lanes.set(lane, (opening = open(lane, CONNECTIONS, STATEMENT_MS)));
      return (await opening) as Kysely<T>;
    },
    migrator: () => open("migration", 1, MIGRATION_MS),
    async close() {
      closed = true;
      await Promise.all([...lanes.values()].map(async (opening) => (await opening).destroy()));
      lanes.clear();
    },
  };
}

async function createPool(
  url: Secret,
  name: string,
  connections: number,
  statementMs: number,
  onError: (cause: Error) => void,
): Promise<Pool> {
  const { default: pg } = await import("pg");
  const typeParser: (oid: number, format?: "text" | "binary") => (text: string) => unknown = pg.types.getTypeParser;
  const config: PoolConfig = {
    connectionString: url.reveal(),
    application_name: `unigate ${name}`,
    max: connections,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    statement_timeout: statementMs,
    lock_timeout: Math.max(LOCK_MS, statementMs / 2),
    idle_in_transaction_session_timeout: statementMs,
    query_timeout: statementMs + SILENCE_MS,
    keepAlive: true,
    types: {
      getTypeParser(oid: number, format?: "text" | "binary") {
        if (oid === INT8) return wholeNumber;
        if (TEXT_TYPES.includes(oid)) return asText;
        return typeParser(oid, format);
      },
    },
  };
  const pool = new pg.Pool(config);
  // Without listeners a broken connection would end the process: the pool listens to the idle ones only. The next
  // statement on one that is in use fails.
  pool.on("error", onError);
  pool.on("connect", (client) => client.on("error", nothing));
  return pool;
}

function asText(text: string): string {
  return text;
}

function nothing(): void {}
