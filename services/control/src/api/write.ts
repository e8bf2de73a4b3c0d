import { GatewayError, type JsonObject } from "@unigate/core";
import { type SavedChange, type SavedRow, SavedUnavailable } from "../saved/types.ts";
import type { ApiDeps } from "./asked.ts";

/** Writes all of it or nothing. Rejects with SavedConflict, or with service_unavailable when the store does not take it. */
export async function write({ saved }: Pick<ApiDeps, "saved">, changes: readonly SavedChange[]): Promise<void> {
  try {
    await saved.write(changes);
  } catch (cause) {
    if (!(cause instanceof SavedUnavailable)) throw cause;
    throw new GatewayError("service_unavailable", "The change could not be stored; nothing was changed.", { cause, retryAfterMs: 1_000 });
  }
}

interface Clocked {
  readonly api: Pick<ApiDeps, "clock">;
}

/** What a new thing says of itself. */
type NewRow = Pick<SavedRow, "kind" | "id" | "slug" | "organisationId" | "workspaceId" | "resource" | "details"> &
  Partial<Pick<SavedRow, "sealed" | "keyHashes">>;

/** The first row of a new thing. */
export function newRow({ api }: Clocked, fields: NewRow): SavedRow {
  const now = api.clock.now();
  return { sealed: null, keyHashes: [], ...fields, version: 1, createdAt: now, updatedAt: now };
}

/** The row after a change of `row`. */
export function nextRow(
  { api }: Clocked,
  row: SavedRow,
  change: Partial<Pick<SavedRow, "resource" | "details" | "sealed" | "keyHashes">>,
): SavedRow {
  return { ...row, ...change, version: row.version + 1, updatedAt: api.clock.now() };
}

/** Takes a thing away as it stands. */
export function removal({ kind, id, version }: SavedRow): SavedChange {
  return { remove: { kind, id, version } };
}

/** `base` with what a change says over it: a field that is absent stays as it is. */
export function withGiven(base: JsonObject, given: Readonly<Record<string, unknown>>): JsonObject {
  return { ...base, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}
