import { type Kysely, runSql } from "@unigate/sql";
import { dayOf, dayOfName, nameOfDay, startOfDay } from "./days.ts";

/** How long records and their bodies are kept, days. */
export interface Retention {
  /** Default 30. */
  readonly recordDays: number;
  /** Default 7. */
  readonly bodyDays: number;
}

/** Days from today for which partitions are there before the first record. */
const AHEAD = 2;
/** Of the advisory lock under which partitions are made and dropped: several logging services share a database. */
const LOCK = 7_020_451_839;

type Table = "records" | "bodies";

/** First and last day of which a table keeps something. */
export function keptDays(retention: Retention, table: Table, now: number): { readonly first: number; readonly last: number } {
  const days = table === "records" ? retention.recordDays : retention.bodyDays;
  return { first: dayOf(now) - days, last: dayOf(now) + AHEAD };
}

/** Makes the partitions of these days where they are missing. All of them, or none. */
export async function makePartitions(database: Kysely<unknown>, table: Table, days: Iterable<number>): Promise<void> {
  await database.transaction().execute(async (transaction) => {
    await runSql(transaction, `select pg_advisory_xact_lock(${LOCK})`);
    const there = await partitionsOf(transaction, table);
    for (const day of days) {
      if (there.includes(day)) continue;
      const name = `logs.${table}_${nameOfDay(day)}`;
      // Attached, not made in place: that would lock the whole table against readers.
      await runSql(transaction, `create table ${name} (like logs.${table} including defaults)`);
      await runSql(transaction, `create unique index on ${name} (id)`);
      const range = `from (${startOfDay(day)}) to (${startOfDay(day + 1)})`;
      await runSql(transaction, `alter table logs.${table} attach partition ${name} for values ${range}`);
    }
  });
}

/** Makes what will be needed and drops what is too old. Gives the days that were dropped. */
export async function maintainPartitions(database: Kysely<unknown>, retention: Retention, now: number): Promise<Record<Table, number[]>> {
  const dropped: Record<Table, number[]> = { records: [], bodies: [] };
  for (const table of ["records", "bodies"] as const) {
    const { first, last } = keptDays(retention, table, now);
    await makePartitions(database, table, rangeOf(dayOf(now), last));
    for (const day of await partitionsOf(database, table)) {
      if (day >= first) continue;
      await runSql(database, `drop table if exists logs.${table}_${nameOfDay(day)}`);
      dropped[table].push(day);
    }
  }
  return dropped;
}

/** Days of which a table has a partition. */
async function partitionsOf(database: Kysely<unknown>, table: Table): Promise<number[]> {
  const { rows } = await runSql<{ name: string }>(
    database,
    `select child.relname as name from pg_inherits
     join pg_class child on child.oid = inhrelid join pg_class parent on parent.oid = inhparent
     join pg_namespace on pg_namespace.oid = parent.relnamespace
     where nspname = 'logs' and parent.relname = $1`,
    [table],
  );
  return rows.map(({ name }) => dayOfName(name.slice(table.length + 1))).filter((day) => day !== null);
}

function rangeOf(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
