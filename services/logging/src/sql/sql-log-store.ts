import type { Clock } from "@unigate/core";
import { withoutBodies } from "@unigate/events";
import { type Kysely, runSql, SchemaError, type SqlEngine, sqlState } from "@unigate/sql";
import type { AddOutcome, FoundLog, LogStore, LogTenant } from "../log-store.ts";
import { migrateLogs } from "../migrate-logs.ts";
import { dayOf, startOfDay } from "./days.ts";
import { type Inserted, insertBodies, insertRows } from "./insert.ts";
import { keptDays, maintainPartitions, makePartitions, type Retention } from "./partitions.ts";
import { bodyRowOf, keyText, type Row, rowOf } from "./row.ts";
import { selectPage } from "./select.ts";

export interface SqlLogStoreDeps {
  /** Closed by whoever opened it, after the store. */
  readonly engine: SqlEngine;
  readonly clock: Clock;
  readonly retention?: Partial<Retention>;
  /** Told when partitions could not be made or dropped; it is tried again. Must not throw. */
  readonly onTrouble: (error: unknown) => void;
}

export interface SqlLogStore extends LogStore {
  /** Migrates the schema and makes partitions; every use of the store does it first. Throws SchemaError when it cannot be used. */
  ready(): Promise<void>;
  /** Makes the partitions of the coming days and drops old ones; happens each hour by itself. */
  maintain(): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** Longest search of one query. */
const PATIENCE_MS = 3_000;
/** "No partition of relation found for row" is a violated check. */
const NO_PARTITION = "23514";
const STATEMENT_TIMEOUT = "57014";

/** Records in the schema "logs" of a database. It opens with the first use and stays. */
export function createSqlLogStore({ engine, clock, retention: given, onTrouble }: SqlLogStoreDeps): SqlLogStore {
  const retention: Retention = { recordDays: 30, bodyDays: 7, ...given };
  const madeFor = { records: new Set<number>(), bodies: new Set<number>() };
  let opening: Promise<Kysely<unknown>> | null = null;
  let refusal: SchemaError | null = null;
  let timer: NodeJS.Timeout | null = null;

  function open(): Promise<Kysely<unknown>> {
    if (refusal !== null) return Promise.reject(refusal);
    opening ??= openNow().catch((error: unknown) => {
      opening = null;
      if (error instanceof SchemaError) refusal = error;
      throw error;
    });
    return opening;
  }

  async function openNow(): Promise<Kysely<unknown>> {
    await migrateLogs(engine);
    const database = await engine.database<unknown>("logs");
    await maintainPartitions(database, retention, clock.now());
    timer ??= setInterval(() => void maintain().catch(onTrouble), HOUR_MS).unref();
    return database;
  }

  async function maintain(): Promise<void> {
    const database = await open();
    madeFor.records.clear();
    madeFor.bodies.clear();
    await maintainPartitions(database, retention, clock.now());
  }

  /** Makes the partitions that these rows need; at most the kept days can be asked for. */
  async function prepare(database: Kysely<unknown>, rows: readonly { readonly time: number }[]): Promise<void> {
    for (const table of ["records", "bodies"] as const) {
      const { first } = keptDays(retention, table, clock.now());
      const days = new Set(rows.map(({ time }) => dayOf(time)));
      const missing = [...days].filter((day) => day >= first && !madeFor[table].has(day));
      if (missing.length === 0) continue;
      await makePartitions(database, table, missing);
      for (const day of missing) madeFor[table].add(day);
    }
  }

  async function prepared<R extends { readonly time: number }>(
    database: Kysely<unknown>,
    rows: readonly R[],
    insert: (rows: readonly R[]) => Promise<Inserted>,
  ): Promise<Inserted> {
    await prepare(database, rows);
    try {
      return await insert(rows);
    } catch (error) {
      if (sqlState(error) !== NO_PARTITION) throw error;
      // Another service dropped one meanwhile.
      madeFor.records.clear();
      madeFor.bodies.clear();
      await prepare(database, rows);
      return insert(rows);
    }
  }

  function store(database: Kysely<unknown>, rows: readonly Row[]): Promise<Inserted> {
    const { first } = keptDays(retention, "bodies", clock.now());
    return prepared(database, rows, (all) => insertRows(database, all, ({ time }) => dayOf(time) >= first));
  }

  return {
    ready: async () => void (await open()),
    maintain,
    async add(records): Promise<AddOutcome> {
      if (records.length === 0) return { stored: 0, duplicates: 0, expired: 0, refused: 0, detail: "" };
      const database = await open();
      const { first, last } = keptDays(retention, "records", clock.now());
      const { kept, expired, early } = ofKeptDays(
        records.map((record) => ({ time: record.head.time, record })),
        first,
        last,
      );
      const rows = kept.map(({ record }) => rowOf(record));
      const inserted = await store(database, rows);
      const duplicates = rows.length - inserted.stored - inserted.refused;
      const detail = early > 0 ? EARLY : inserted.detail;
      return { stored: inserted.stored, duplicates, expired, refused: inserted.refused + early, detail };
    },
    async addBodies(bodies): Promise<AddOutcome> {
      if (bodies.length === 0) return { stored: 0, duplicates: 0, expired: 0, refused: 0, detail: "" };
      const database = await open();
      const { last } = keptDays(retention, "records", clock.now());
      const { first } = keptDays(retention, "bodies", clock.now());
      const { kept, expired, early } = ofKeptDays(bodies, first, last);
      const inserted = await prepared(database, kept.map(bodyRowOf), (rows) => insertBodies(database, rows));
      const duplicates = kept.length - inserted.stored - inserted.refused;
      return {
        stored: inserted.stored,
        duplicates,
        expired,
        refused: inserted.refused + early,
        detail: early > 0 ? EARLY : inserted.detail,
      };
    },
    async list(selection) {
      const database = await open();
      const { first } = keptDays(retention, "records", clock.now());
      try {
        return await selectPage(database, selection, startOfDay(first), PATIENCE_MS);
      } catch (error) {
        if (sqlState(error) === STATEMENT_TIMEOUT) return { kind: "too_slow" };
        throw error;
      }
    },
    get: async (tenant, id) => find(await open(), tenant, id),
    async close() {
      if (timer !== null) clearInterval(timer);
      await opening?.catch(() => null);
    },
  };
}

const EARLY = "its time is days ahead of this clock";

/** What is of the days that are kept, and how much is older or newer. */
function ofKeptDays<T extends { readonly time: number }>(
  all: readonly T[],
  first: number,
  last: number,
): { kept: T[]; expired: number; early: number } {
  const kept: T[] = [];
  let [expired, early] = [0, 0];
  for (const one of all) {
    const day = dayOf(one.time);
    if (day < first) expired += 1;
    else if (day > last) early += 1;
    else kept.push(one);
  }
  return { kept, expired, early };
}

async function find(database: Kysely<unknown>, tenant: LogTenant, id: string): Promise<FoundLog | null> {
  const [organisation, workspace] = [keyText(tenant.organisationId), keyText(tenant.workspaceId)];
  const { rows } = await runSql<{ time: number; head: string; tail: string | null }>(
    database,
    `select time, head, tail from logs.records
     where id = $1 and organisation_id = $2 and ($3 = '' or workspace_id = $3) order by time desc limit 1`,
    [keyText(id), organisation, workspace],
  );
  const record = rows[0];
  if (record === undefined) return null;
  const { time, head } = record;
  const tail = record.tail ?? (await bodyOf(database, organisation, keyText(id), time));
  const start = head.slice(0, -1);
  if (tail !== null) return { head, bytes: Buffer.from(start + tail) };
  const bytes = Buffer.from(start);
  return { head, bytes: withoutBodies(bytes, bytes.length) };
}

/** The request and the response of a record; null when they are not kept any more. */
async function bodyOf(database: Kysely<unknown>, organisation: string, id: string, time: number): Promise<string | null> {
  const text = "select tail from logs.bodies where id = $1 and time = $2 and organisation_id = $3";
  const { rows } = await runSql<{ tail: string }>(database, text, [id, time, organisation]);
  return rows[0]?.tail ?? null;
}
