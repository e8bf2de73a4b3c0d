import { type Kysely, runSql, sqlState } from "@unigate/sql";
import { RECORD_COLUMNS, type Row } from "./row.ts";

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
export async function insertRows(database: Kysely<unknown>, rows: readonly Row[], keepsBody: (row: Row) => boolean): Promise<Inserted> {
  let [stored, refused, detail] = [0, 0, ""];
  for (const batch of batches(rows)) {
    const outcome = await insertBatch(database, batch, keepsBody);
    stored += outcome.stored;
    refused += outcome.refused;
    if (detail === "") detail = outcome.detail;
  }
  return { stored, refused, detail };
}

/** When a value of one row is refused, the batch is halved until that row stands alone: it must not stop the others. */
async function insertBatch(database: Kysely<unknown>, rows: readonly Row[], keepsBody: (row: Row) => boolean): Promise<Inserted> {
  try {
    const bodies = rows.filter((row) => row.body !== null && keepsBody(row)).map((row) => [row.time, row.id, row.organisationId, row.body]);
    if (bodies.length > 0) await insert(database, "bodies", BODY_COLUMNS, bodies);
    const values = rows.map((row) => row.values);
    return { stored: await insert(database, "records", RECORD_COLUMNS, values), refused: 0, detail: "" };
  } catch (error) {
    if (!isOfTheData(error)) throw error;
    if (rows.length === 1) return { stored: 0, refused: 1, detail: error instanceof Error ? error.message : String(error) };
    const middle = rows.length >>> 1;
    const left = await insertBatch(database, rows.slice(0, middle), keepsBody);
    const right = await insertBatch(database, rows.slice(middle), keepsBody);
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

function* batches(rows: readonly Row[]): Generator<Row[]> {
  let batch: Row[] = [];
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
