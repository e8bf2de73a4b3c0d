import { type Kysely, runSql } from "@unigate/sql";
import { rowOfStored, textOfRow } from "../row-json.ts";
import { idKey, KEPT_VERSIONS, thingOf } from "../row-state.ts";
import type { SavedChange, SavedKind, SavedRow } from "../types.ts";

type Database = Kysely<unknown>;

/** Rows that one statement reads. */
const PAGE = 2_000;

/** Takes `count` numbers for changes and gives the last of them. Until the transaction ends nobody else gets one. */
export async function takeNumbers(transaction: Database, count: number): Promise<number> {
  const { rows } = await runSql<{ seq: number }>(transaction, "update control.store set seq = seq + $1 returning seq", [count]);
  return rows[0]?.seq ?? 0;
}

/** The rows that these changes are about, by id and by slug. */
export async function rowsTouchedBy(transaction: Database, changes: readonly SavedChange[]): Promise<SavedRow[]> {
  const things = changes.map(thingOf);
  const puts = changes.flatMap((change) => ("put" in change ? [change.put] : []));
  const { rows } = await runSql<{ row: string }>(
    transaction,
    `select row from control.saved where (kind, id) in (select * from unnest($1::text[], $2::text[]))
       or (kind, organisation_id, slug) in (select * from unnest($3::text[], $4::text[], $5::text[]))`,
    [
      things.map(({ kind }) => kind),
      things.map(({ id }) => id),
      puts.map(({ kind }) => kind),
      puts.map(({ organisationId }) => organisationId),
      puts.map(({ slug }) => slug),
    ],
  );
  return rows.map(({ row }) => rowOfText(row));
}

/** Makes `after` of the things `touched`: what is not in it is removed. */
export async function replaceRows(
  transaction: Database,
  touched: readonly { readonly kind: string; readonly id: string }[],
  after: readonly SavedRow[],
): Promise<void> {
  await runSql(transaction, "delete from control.saved where (kind, id) in (select * from unnest($1::text[], $2::text[]))", [
    touched.map(({ kind }) => kind),
    touched.map(({ id }) => id),
  ]);
  await runSql(
    transaction,
    `insert into control.saved (kind, id, organisation_id, slug, version, row)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])`,
    [
      after.map(({ kind }) => kind),
      after.map(({ id }) => id),
      after.map(({ organisationId }) => organisationId),
      after.map(({ slug }) => slug),
      after.map(({ version }) => version),
      after.map(textOfRow),
    ],
  );
}

/** Says that each of these things was changed by its number; the last number is `seq`. */
export async function tellChanges(
  transaction: Database,
  things: readonly { readonly kind: string; readonly id: string }[],
  seq: number,
): Promise<void> {
  const last = new Map(things.map((thing, index) => [idKey(thing.kind, thing.id), { ...thing, seq: seq - things.length + 1 + index }]));
  const changes = [...last.values()];
  await runSql(
    transaction,
    `insert into control.change (kind, id, seq) select * from unnest($1::text[], $2::text[], $3::bigint[])
     on conflict (kind, id) do update set seq = excluded.seq`,
    [changes.map(({ kind }) => kind), changes.map(({ id }) => id), changes.map(({ seq: at }) => at)],
  );
}

/** Keeps configs as they are or were; and forgets the oldest beyond those that are kept. */
export async function keepVersions(transaction: Database, rows: readonly SavedRow[]): Promise<void> {
  if (rows.length === 0) return;
  await runSql(
    transaction,
    `insert into control.version (kind, id, version, row) select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[])`,
    [rows.map(({ kind }) => kind), rows.map(({ id }) => id), rows.map(({ version }) => version), rows.map(textOfRow)],
  );
  await runSql(
    transaction,
    `delete from control.version using unnest($1::text[], $2::text[], $3::bigint[]) as kept (kind, id, version)
     where version.kind = kept.kind and version.id = kept.id and version.version <= kept.version - ${KEPT_VERSIONS}`,
    [rows.map(({ kind }) => kind), rows.map(({ id }) => id), rows.map(({ version }) => version)],
  );
}

export async function forgetVersions(transaction: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await runSql(transaction, "delete from control.version where kind = 'config' and id = any($1::text[])", [ids]);
}

/** Every row of a table, in pages. What others change meanwhile may be seen or not. */
export async function allRows(database: Database, table: "saved" | "version"): Promise<SavedRow[]> {
  const all: SavedRow[] = [];
  let [kind, id, version] = ["", "", 0];
  for (;;) {
    const { rows } = await runSql<{ row: string }>(
      database,
      `select row from control.${table} where (kind, id, version) > ($1, $2, $3::bigint) order by kind, id, version limit ${PAGE}`,
      [kind, id, version],
    );
    const page = rows.map(({ row }) => rowOfText(row));
    all.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return all;
    ({ kind, id, version } = last);
  }
}

export async function versionsOf(database: Database, kind: SavedKind, id: string): Promise<SavedRow[]> {
  const text = `select row from control.version where kind = $1 and id = $2 order by version desc limit ${KEPT_VERSIONS}`;
  const { rows } = await runSql<{ row: string }>(database, text, [kind, id]);
  return rows.map(({ row }) => rowOfText(row));
}

export function rowOfText(text: string): SavedRow {
  return rowOfStored(JSON.parse(text));
}
