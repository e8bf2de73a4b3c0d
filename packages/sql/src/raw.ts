import type { CompiledQuery, Kysely } from "kysely";

/** What a statement gave: its rows, and how many an insert, update or delete touched. */
export interface RawResult<R> {
  readonly rows: readonly R[];
  readonly affected: number;
}

/** Runs a statement written as text, with its parameters as $1, $2: for what the query builder cannot say. */
export async function runSql<R = Record<string, unknown>>(
  database: Kysely<unknown>,
  text: string,
  parameters: readonly unknown[] = [],
): Promise<RawResult<R>> {
  const query: CompiledQuery<R> = {
    sql: text,
    parameters,
    query: { kind: "RawNode", sqlFragments: [text], parameters: [] },
    queryId: { queryId: "" },
  };
  const { rows, numAffectedRows } = await database.executeQuery(query);
  return { rows, affected: Number(numAffectedRows ?? 0n) };
}
