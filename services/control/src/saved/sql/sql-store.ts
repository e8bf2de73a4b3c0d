import { type Kysely, runSql, type SqlEngine } from "@unigate/sql";
import { type PortableStore, planAdoption } from "../portable-store.ts";
import { refuseBadRow } from "../row-json.ts";
import { createRowState, thingOf } from "../row-state.ts";
import { checkMasterKey, type MasterKeyMark } from "../store-error.ts";
import type { SavedChange, SavedKind, SavedRow } from "../types.ts";
import { migrateSaved } from "./migrate-saved.ts";
import {
  allRows,
  forgetVersions,
  keepVersions,
  replaceRows,
  rowOfText,
  rowsTouchedBy,
  takeNumbers,
  tellChanges,
  versionsOf,
} from "./statements.ts";
import { asUnavailable } from "./unavailable.ts";

type Database = Kysely<unknown>;

/** Changes that `changesAfter` gives at once. */
const PAGE = 1_000;

/**
 * Saved things in the schema "control" of a database, which other processes may use at the same time. The engine is
 * closed by whoever opened it, after the store. Throws SchemaError or SavedStoreError when the database cannot be
 * used as it is, SavedUnavailable when it does not answer.
 */
export async function openSqlStore(engine: SqlEngine, masterKey: MasterKeyMark | null): Promise<PortableStore> {
  const database = await answered(async () => {
    await migrateSaved(engine);
    const opened = await engine.database<unknown>("control");
    if (masterKey !== null) await markMasterKey(opened, masterKey);
    return opened;
  });

  return {
    load: () =>
      answered(async () => {
        // The number first: what is changed while the rows are read is told by changesAfter as well.
        const seq = await lastNumber(database);
        return { rows: await allRows(database, "saved"), seq };
      }),
    async write(changes) {
      for (const change of changes) if ("put" in change) refuseBadRow(change.put);
      return answered(() => database.transaction().execute((transaction) => write(transaction, changes)));
    },
    changesAfter: (seq) => answered(() => changesAfter(database, seq)),
    versions: async (kind, id) => (kind === "config" ? answered(() => versionsOf(database, kind, id)) : []),
    everything: () =>
      answered(() =>
        database
          .transaction()
          .setIsolationLevel("repeatable read")
          .execute(async (transaction) => {
            const rows = await allRows(transaction, "saved");
            const present = new Set(rows.map(versionKey));
            const versions = await allRows(transaction, "version");
            return { masterKey: await markedKey(transaction), rows, former: versions.filter((row) => !present.has(versionKey(row))) };
          }),
      ),
    adopt: (everything) =>
      answered(() =>
        database.transaction().execute(async (transaction) => {
          // Nobody else writes from here on.
          await takeNumbers(transaction, 0);
          const plan = planAdoption(everything, createRowState(await allRows(transaction, "saved")));
          if (plan.conflicts.length > 0) return { added: 0, conflicts: plan.conflicts };
          for (const rows of pagesOf(plan.rows)) {
            await replaceRows(transaction, rows, rows);
            await tellChanges(transaction, rows, await takeNumbers(transaction, rows.length));
          }
          const versions = [...plan.former, ...plan.rows.filter(({ kind }) => kind === "config")];
          for (const rows of pagesOf(versions)) await keepVersions(transaction, rows);
          return { added: plan.rows.length, conflicts: [] };
        }),
      ),
    async close() {},
  };
}

async function write(transaction: Database, changes: readonly SavedChange[]): Promise<number> {
  const seq = await takeNumbers(transaction, changes.length);
  const state = createRowState(await rowsTouchedBy(transaction, changes));
  for (const change of changes) state.apply(change);
  const touched = changes.map(thingOf);
  const after = new Map<string, SavedRow>();
  for (const { kind, id } of touched) {
    const row = state.get(kind, id);
    if (row !== undefined) after.set(`${kind}\n${id}`, row);
  }
  await replaceRows(transaction, touched, [...after.values()]);
  for (const change of changes) {
    if ("put" in change && change.put.kind === "config") await keepVersions(transaction, [change.put]);
    else if ("remove" in change && change.remove.kind === "config") await forgetVersions(transaction, [change.remove.id]);
  }
  await tellChanges(transaction, touched, seq);
  return seq;
}

async function changesAfter(
  database: Database,
  after: number,
): Promise<{ readonly seq: number; readonly kind: SavedKind; readonly id: string; readonly row: SavedRow | null }[]> {
  const { rows } = await runSql<{ seq: number; kind: SavedKind; id: string; row: string | null }>(
    database,
    `select change.seq, change.kind, change.id, saved.row from control.change
     left join control.saved on saved.kind = change.kind and saved.id = change.id
     where change.seq > $1 order by change.seq limit ${PAGE}`,
    [after],
  );
  return rows.map(({ row, ...change }) => ({ ...change, row: row === null ? null : rowOfText(row) }));
}

async function lastNumber(database: Database): Promise<number> {
  const { rows } = await runSql<{ seq: number }>(database, "select seq from control.store");
  return rows[0]?.seq ?? 0;
}

/** The first who opens the store says which master key it is for. */
async function markMasterKey(database: Database, masterKey: MasterKeyMark): Promise<void> {
  const set = "update control.store set master_key = $1 where master_key is null";
  await runSql(database, set, [masterKey.fingerprint]);
  checkMasterKey(await markedKey(database), masterKey, 'the database\'s schema "control" (UNIGATE_DATABASE_URL)');
}

/** The mark of the master key; empty when nobody has opened the store yet. */
async function markedKey(database: Database): Promise<string> {
  const { rows } = await runSql<{ master_key: string | null }>(database, "select master_key from control.store");
  return rows[0]?.master_key ?? "";
}

function versionKey({ kind, id, version }: SavedRow): string {
  return `${kind}\n${id}\n${version}`;
}

async function answered<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw asUnavailable(error);
  }
}

function* pagesOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < all.length; start += PAGE) yield all.slice(start, start + PAGE);
}
