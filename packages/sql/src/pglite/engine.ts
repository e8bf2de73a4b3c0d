import type { Kysely } from "kysely";
import type { SqlEngine, SqlEvent, SqlLane } from "../engine.ts";
import { databaseFolder } from "./folder.ts";
import { createLanes } from "./lanes.ts";
import { openFolder } from "./open-folder.ts";
import type { DatabaseThread, ThreadLimits } from "./thread.ts";

const LIMITS: ThreadLimits = { openMs: 60_000, statementMs: 60_000, closeMs: 5_000 };
const WAITING = 1_000;
const PATIENCE_MS = 30_000;

/**
 * PostgreSQL inside this process, in one thread, for all of its stores. Safe against a crash of the process, not
 * against a loss of power: PGlite never syncs to the disk. A thread that ended is started again by the next query.
 */
export function openPgliteEngine(dataDir: string, onEvent: (event: SqlEvent) => void): SqlEngine {
  const folder = databaseFolder(dataDir);
  const lanes = createLanes({ waiting: WAITING, patienceMs: PATIENCE_MS });
  const databases = new Map<SqlLane, Promise<Kysely<unknown>>>();
  let opening: Promise<DatabaseThread> | null = null;
  let closed = false;

  /** The open database; called by whoever has the turn. */
  async function thread(): Promise<DatabaseThread> {
    if (closed) throw new Error("the database is closed");
    if (opening !== null) {
      const open = await opening.catch(() => null);
      if (open?.alive === true) return open;
    }
    const started = performance.now();
    opening = openFolder(folder, LIMITS, onEvent, (cause) => onEvent({ kind: "lost", cause }));
    const open = await opening;
    onEvent({ kind: "opened", tookMs: Math.round(performance.now() - started) });
    return open;
  }

  async function kysely(lane: SqlLane): Promise<Kysely<unknown>> {
    const [{ Kysely }, { pgliteDialect }] = await Promise.all([import("kysely"), import("./dialect.ts")]);
    return new Kysely({ dialect: pgliteDialect(lane, lanes, thread) });
  }

  return {
    kind: "pglite",
    async database<T>(lane: SqlLane) {
      let made = databases.get(lane);
      if (made === undefined) databases.set(lane, (made = kysely(lane)));
      return (await made) as Kysely<T>;
    },
    migrator: () => kysely("control"),
    async close() {
      if (closed) return;
      const done = await lanes.turn("logs");
      closed = true;
      done();
      const open = await opening?.catch(() => null);
      await open?.close();
    },
  };
}
