import { type Saved, SavedConflict, type SavedKind, type SavedRow } from "../saved/types.ts";

/** Saved things of a test, with the rules of the real ones. */
export interface MemorySaved extends Saved {
  /** All rows as one text: what a journal would hold. */
  text(): string;
  /** Called once before the next write is made: what somebody else does at the same moment. */
  before: (() => Promise<void>) | null;
  /** Thrown by the next writes. */
  broken: Error | null;
}

export function createMemorySaved(): MemorySaved {
  const rows = new Map<string, SavedRow>();
  const versions = new Map<string, SavedRow[]>();
  const place = (kind: SavedKind, id: string): string => `${kind}\n${id}`;

  const saved: MemorySaved = {
    before: null,
    broken: null,
    text: () => JSON.stringify([...rows.values(), ...[...versions.values()].flat()]),
    get: (kind, organisationId, idOrSlug) =>
      [...rows.values()].find(
        (row) => row.kind === kind && row.organisationId === organisationId && (row.slug === idOrSlug || row.id === idOrSlug),
      ),
    list: (kind, organisationId) => [...rows.values()].filter((row) => row.kind === kind && row.organisationId === organisationId),
    async write(changes) {
      const { before, broken } = saved;
      saved.before = null;
      await before?.();
      if (broken !== null) throw broken;
      for (const change of changes) {
        const { kind, id, version } = "put" in change ? change.put : change.remove;
        const present = rows.get(place(kind, id));
        const expected = "put" in change ? version - 1 : version;
        if (present === undefined && expected > 0) throw new SavedConflict("gone", "gone");
        if ((present?.version ?? 0) !== expected) throw new SavedConflict("changed", "changed");
        if (!("put" in change)) continue;
        const { slug, organisationId } = change.put;
        const holder = saved.list(kind, organisationId).find((row) => row.slug === slug);
        if (holder !== undefined && holder.id !== id) throw new SavedConflict("slug_taken", "slug taken");
      }
      for (const change of changes) {
        if ("put" in change) {
          const { kind, id } = change.put;
          rows.set(place(kind, id), change.put);
          if (kind === "config") versions.set(id, [change.put, ...(versions.get(id) ?? [])]);
        } else rows.delete(place(change.remove.kind, change.remove.id));
      }
    },
    versions: async (_kind, id) => versions.get(id) ?? [],
    find: () => undefined,
  };
  return saved;
}
