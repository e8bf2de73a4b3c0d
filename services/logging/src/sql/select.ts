import { type Kysely, runSql } from "@unigate/sql";
import type { LogPage, LogRow, LogSelection, Position } from "../log-store.ts";
import { keyText } from "./row.ts";

/** Rows that one statement looks through: each is short, so that others come in between. */
const WINDOW = 5_000;

/** The conditions of a query: those that an index answers, and the rest, tried on row after row. */
class Conditions {
  readonly parameters: unknown[] = [];
  readonly indexed: string[] = [];
  readonly rest: string[] = [];

  parameter(value: unknown): string {
    this.parameters.push(value);
    return `$${this.parameters.length}`;
  }
}

/** Records of a tenant, newest first. Gives up after `patienceMs`. */
export async function selectPage(database: Kysely<unknown>, selection: LogSelection, oldest: number, patienceMs: number): Promise<LogPage> {
  const found: Position[] = [];
  const giveUpAt = performance.now() + patienceMs;
  let after = selection.after;
  for (;;) {
    const { hits, last, scanned } = await scan(database, { ...selection, after }, oldest, selection.limit + 1 - found.length);
    found.push(...hits);
    if (found.length > selection.limit || scanned < WINDOW || last === null) break;
    after = last;
    if (performance.now() < giveUpAt) continue;
    if (found.length === 0) return { kind: "too_slow" };
    return { kind: "page", rows: await headsOf(database, selection, found), hasMore: true };
  }
  const page = found.slice(0, selection.limit);
  return { kind: "page", rows: await headsOf(database, selection, page), hasMore: found.length > selection.limit };
}

interface Scan {
  readonly hits: readonly Position[];
  /** Where it stopped. */
  readonly last: Position | null;
  readonly scanned: number;
}

/** Looks through the next rows, at most a window of them. */
async function scan(database: Kysely<unknown>, selection: LogSelection, oldest: number, count: number): Promise<Scan> {
  const conditions = conditionsOf(selection, oldest);
  const hit = conditions.rest.length === 0 ? "true" : conditions.rest.join(" and ");
  // Without a condition to try, every row is a hit.
  const window = conditions.rest.length === 0 ? count : WINDOW;
  const { rows } = await runSql<{ time: number; id: string; kind: "hit" | "last" | "count" }>(
    database,
    `with scanned as materialized (
       select time, id, (${hit}) as hit from logs.records where ${conditions.indexed.join(" and ")}
       order by time desc, id desc limit ${window}
     )
     (select time, id, 'hit' as kind from scanned where hit order by time desc, id desc limit ${count})
     union all (select time, id, 'last' from scanned order by time, id limit 1)
     union all select count(*), '', 'count' from scanned`,
    conditions.parameters,
  );
  const of = (kind: string) => rows.filter((row) => row.kind === kind);
  const hits = of("hit")
    .map(({ time, id }) => ({ time, id }))
    .sort((left, right) => right.time - left.time || (left.id < right.id ? 1 : -1));
  const last = of("last")[0];
  return { hits, last: last === undefined ? null : { time: last.time, id: last.id }, scanned: of("count")[0]?.time ?? 0 };
}

/** The tenant is in every query, whatever else is asked. */
function conditionsOf({ tenant, from, to, filter, after }: LogSelection, oldest: number): Conditions {
  const conditions = new Conditions();
  const { indexed, rest } = conditions;
  const is = (column: string, value: string | number) =>
    `${column} = ${conditions.parameter(typeof value === "string" ? keyText(value) : value)}`;
  indexed.push(is("organisation_id", tenant.organisationId));
  if (filter.trace_id === undefined) {
    if (tenant.workspaceId !== "") indexed.push(is("workspace_id", tenant.workspaceId));
  } else {
    indexed.push(is("trace_id", filter.trace_id));
    if (tenant.workspaceId !== "") rest.push(is("workspace_id", tenant.workspaceId));
  }
  indexed.push(`time >= ${conditions.parameter(Math.max(from, oldest))}`);
  if (to !== 0) indexed.push(`time < ${conditions.parameter(to)}`);
  if (after !== null) {
    const [time, id] = [conditions.parameter(after.time), conditions.parameter(keyText(after.id))];
    // The first is for the choice of partitions, which looks at single columns only.
    indexed.push(`time <= ${time}`, `(time, id) < (${time}, ${id})`);
  }
  if (filter.api_key_id !== undefined) rest.push(is("api_key_id", filter.api_key_id));
  if (filter.status !== undefined) rest.push(is("status", filter.status));
  if (filter.provider !== undefined) rest.push(`(${is("provider", filter.provider)} or ${is("provider_slug", filter.provider)})`);
  if (filter.model !== undefined) rest.push(`(${is("model", filter.model)} or ${is("response_model", filter.model)})`);
  return conditions;
}

/** The records at these places, in their order. */
async function headsOf(database: Kysely<unknown>, { tenant }: LogSelection, places: readonly Position[]): Promise<LogRow[]> {
  const [newest, oldest] = [places[0], places.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  const { rows } = await runSql<LogRow>(
    database,
    "select time, id, head from logs.records where organisation_id = $1 and time between $2 and $3 and id = any($4::text[])",
    [keyText(tenant.organisationId), oldest.time, newest.time, places.map(({ id }) => id)],
  );
  const byPlace = new Map(rows.map((row) => [`${row.time}:${row.id}`, row]));
  // One that was dropped with its day in between is left out.
  return places.map(({ time, id }) => byPlace.get(`${time}:${id}`)).filter((row) => row !== undefined);
}
