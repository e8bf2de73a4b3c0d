import { type SavedChange, SavedConflict, type SavedKind, type SavedRow } from "./types.ts";

/** Former and present rows of a config that are kept. */
export const KEPT_VERSIONS = 1_000;

/** Rows as they stand, and the rules by which they change. Of a whole store, or of the part that one write touches. */
export interface RowState {
  get(kind: SavedKind, id: string): SavedRow | undefined;
  rows(): IterableIterator<SavedRow>;
  /** The row that has the slug of `row` now; it may be the same thing. */
  holderOf(row: SavedRow): SavedRow | undefined;
  /** Makes one change. Throws SavedConflict and leaves all as it was when the state is another than it expects. */
  apply(change: SavedChange): void;
  /** Sets a row, or takes it away, whatever stands there. */
  set(kind: SavedKind, id: string, row: SavedRow | undefined): void;
}

export function createRowState(rows: Iterable<SavedRow> = []): RowState {
  const byId = new Map<string, SavedRow>();
  const bySlug = new Map<string, SavedRow>();

  function set(kind: SavedKind, id: string, row: SavedRow | undefined): void {
    const before = byId.get(idKey(kind, id));
    if (before !== undefined && bySlug.get(slugKey(before)) === before) bySlug.delete(slugKey(before));
    if (row === undefined) byId.delete(idKey(kind, id));
    else {
      byId.set(idKey(kind, id), row);
      bySlug.set(slugKey(row), row);
    }
  }

  for (const row of rows) set(row.kind, row.id, row);

  function put(row: SavedRow): void {
    const { kind, id, version, slug } = row;
    const present = byId.get(idKey(kind, id));
    if (version === 1 && present !== undefined) throw new SavedConflict("changed", `there is a ${kind} ${id} already`);
    if (version !== 1) checkPresent(present, kind, id, version - 1);
    if (present !== undefined && present.organisationId !== row.organisationId)
      throw new SavedConflict("changed", `${kind} ${id} belongs to another organisation`);
    const holder = bySlug.get(slugKey(row));
    if (holder !== undefined && holder.id !== id)
      throw new SavedConflict("slug_taken", `another ${kind} of this organisation is named "${slug}"`);
    set(kind, id, row);
  }

  return {
    get: (kind, id) => byId.get(idKey(kind, id)),
    rows: () => byId.values(),
    holderOf: (row) => bySlug.get(slugKey(row)),
    set,
    apply(change) {
      if ("put" in change) return put(change.put);
      const { kind, id, version } = change.remove;
      checkPresent(byId.get(idKey(kind, id)), kind, id, version);
      set(kind, id, undefined);
    },
  };
}

function checkPresent(present: SavedRow | undefined, kind: SavedKind, id: string, version: number): void {
  if (present === undefined) throw new SavedConflict("gone", `there is no ${kind} ${id} any more`);
  if (present.version !== version)
    throw new SavedConflict("changed", `${kind} ${id} is at version ${present.version}, and the change was made from version ${version}`);
}

/** Which thing a change is about. */
export function thingOf(change: SavedChange): { readonly kind: SavedKind; readonly id: string } {
  return "put" in change ? change.put : change.remove;
}

export function idKey(kind: string, id: string): string {
  return `${kind}\n${id}`;
}

/** The organisation comes first: an id of an organisation holds no line break, a slug might. */
export function slugKey({ kind, organisationId, slug }: Pick<SavedRow, "kind" | "organisationId" | "slug">): string {
  return nameKey(kind, organisationId, slug);
}

export function nameKey(kind: string, organisationId: string, name: string): string {
  return `${kind}\n${organisationId}\n${name}`;
}
