import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from "kysely";
import type { SqlLane } from "../engine.ts";
import type { Lanes } from "./lanes.ts";
import type { DatabaseThread } from "./thread.ts";

/** A turn at the embedded database, as Kysely sees it: a connection. */
interface Turn extends DatabaseConnection {
  end(): void;
}

/** Kysely's dialect of the embedded database: PostgreSQL's, over the thread. */
export function pgliteDialect(lane: SqlLane, lanes: Lanes, thread: () => Promise<DatabaseThread>): Dialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
    createDriver: () => laneDriver(lane, lanes, thread),
  };
}

function laneDriver(lane: SqlLane, lanes: Lanes, thread: () => Promise<DatabaseThread>): Driver {
  return {
    async init() {},
    async acquireConnection() {
      const end = await lanes.turn(lane);
      try {
        return turnOn(await thread(), end);
      } catch (error) {
        end();
        throw error;
      }
    },
    beginTransaction: (connection, settings) => run(connection, beginText(settings)),
    commitTransaction: (connection) => run(connection, "commit"),
    rollbackTransaction: (connection) => run(connection, "rollback"),
    async releaseConnection(connection) {
      (connection as Turn).end();
    },
    async destroy() {},
  };
}

function turnOn(thread: DatabaseThread, end: () => void): Turn {
  return {
    async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
      const { rows, affected } = await thread.query(sql, parameters);
      return { rows: rows as R[], numAffectedRows: BigInt(affected) };
    },
    streamQuery() {
      throw new Error("the embedded database answers with all rows at once: page through them");
    },
    end,
  };
}

function beginText({ isolationLevel, accessMode }: TransactionSettings): string {
  const isolation = isolationLevel === undefined ? "" : ` isolation level ${isolationLevel}`;
  return `start transaction${isolation}${accessMode === undefined ? "" : ` ${accessMode}`}`;
}

async function run(connection: DatabaseConnection, text: string): Promise<void> {
  await connection.executeQuery(CompiledQuery.raw(text));
}
