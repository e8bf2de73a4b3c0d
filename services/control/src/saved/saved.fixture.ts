import type { MasterKeyMark } from "./store-error.ts";
import type { SavedRow } from "./types.ts";

/** A row of tests: an api_key of the default organisation unless said. */
export function savedRow(more: Partial<SavedRow> & Pick<SavedRow, "id">): SavedRow {
  return {
    kind: "api_key",
    slug: more.id,
    organisationId: "org-default",
    workspaceId: null,
    version: 1,
    createdAt: 1,
    updatedAt: 1,
    resource: { id: more.id },
    details: {},
    sealed: null,
    keyHashes: [],
    ...more,
  };
}

/** The next version of a row. */
export function nextOf(row: SavedRow, more: Partial<SavedRow> = {}): SavedRow {
  return { ...row, version: row.version + 1, updatedAt: row.updatedAt + 1, ...more };
}

export const TEST_KEY: MasterKeyMark = { fingerprint: "00000000000000aa", source: "UNIGATE_MASTER_KEY" };
