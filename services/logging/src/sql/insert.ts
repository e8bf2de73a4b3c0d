import { type Kysely, runSql, sqlState } from "@unigate/sql";
import { type BodyRow, RECORD_COLUMNS, type Row } from "./row.ts";

/** Rows and bytes of one statement. */
const MAX_ROWS = 200;
const MAX_BYTES = 4 * 1024 * 1024;
const BODY_COLUMNS = ["time", "id", "organisation_id", "tail"];

export interface Inserted {
  readonly stored: number;
  readonly refused: number;
  readonly detail: string;
}

/** Stores rows, bodies first: a record that is seen has its bodies. What is there already is left alone. */
export function insertRows(database: Kysely<unknown>, rows: readonly Row[], keepsBody: (row: Row) => boolean): Promise<Inserted> {
  return inBatches(rows, async (batch) => {
    const bodies = batch.flatMap((row) => (row.body !== null && keepsBody(row) ? [bodyValues({ ...row, body: row.body })] : []));
    if (bodies.length > 0) await insert(database, "bodies", BODY_COLUMNS, bodies);
    const values = batch.map((row) => row.values);
    return insert(database, "records", RECORD_COLUMNS, values);
  });
}

/** Stores bodies that came apart from their records. */
export function insertBodies(database: Kysely<unknown>, rows: readonly BodyRow[]): Promise<Inserted> {
  return inBatches(rows, (batch) => insert(database, "bodies", BODY_COLUMNS, batch.map(bodyValues)));
}

function bodyValues({ time, id, organisationId, body }: BodyRow): (string | number)[] {
  return [time, id, organisationId, body];
}

async function inBatches<R extends { readonly bytes: number }>(
  rows: readonly R[],
  store: (batch: readonly R[]) => Promise<number>,
): Promise<Inserted> {
  let [stored, refused, detail] = [0, 0, ""];
  for (const batch of batches(rows)) {
    const outcome = await storeBatch(batch, store);
    stored += outcome.stored;
    refused += outcome.refused;
    if (detail === "") detail = outcome.detail;
  }
  return { stored, refused, detail };
}

/** When a value of one row is refused, the batch is halved until that row stands alone: it must not stop the others. */
async function storeBatch<R>(rows: readonly R[], store: (batch: readonly R[]) => Promise<number>): Promise<Inserted> {
  try {
    return { stored: await store(rows), refused: 0, detail: "" };
  } catch (error) {
    if (!isOfTheData(error)) throw error;
    if (rows.length === 1) return { stored: 0, refused: 1, detail: error instanceof Error ? error.message : String(error) };
    const middle = rows.length >>> 1;
    const left = await storeBatch(rows.slice(0, middle), store);
    const right = await storeBatch(rows.slice(middle), store);
    return { stored: left.stored + right.stored, refused: left.refused + right.refused, detail: left.detail || right.detail };
  }
}

async function insert(
  database: Kysely<unknown>,
  table: "records" | "bodies",
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): Promise<number> {
  let number = 0;
  const tuples = rows.map((row) => `(${row.map(() => `$${++number}`).join(",")})`).join(",");
  const text = `insert into logs.${table} (${columns.join(",")}) values ${tuples} on conflict do nothing`;
  return (await runSql(database, text, rows.flat())).affected;
}

/** Classes 22 (data exception) and 54 (limit exceeded): no other time or place makes it work. */
function isOfTheData(error: unknown): boolean {
  return /^(?:22|54)/.test(sqlState(error) ?? "");
}

function* batches<R extends { readonly bytes: number }>(rows: readonly R[]): Generator<R[]> {
  let batch: R[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (batch.length === MAX_ROWS || (batch.length > 0 && bytes + row.bytes > MAX_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(row);
    bytes += row.bytes;
  }
  if (batch.length > 0) yield batch;
}
