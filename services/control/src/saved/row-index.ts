import type { Ref } from "@unigate/contracts";
import { bufferOfJson } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";
import { type Item, isSeenIn } from "../item.ts";
import { workspaceAccessOf } from "../workspace-access.ts";
import { textOfRow } from "./row-json.ts";
import { idKey, nameKey, slugKey } from "./row-state.ts";
import type { SavedKind, SavedRow } from "./types.ts";

/** Saved rows as they are asked for: each look-up is one of a map. */
export interface RowIndex {
  /** Takes a row over, null = it is removed. Gives the row before it. */
  set(kind: SavedKind, id: string, row: SavedRow | null): SavedRow | undefined;
  get(kind: SavedKind, organisationId: string, idOrSlug: string): SavedRow | undefined;
  /** Oldest first; the same array until one of them changes. */
  list(kind: SavedKind, organisationId: string): readonly SavedRow[];
  /** What the data plane sees of a row. An expired key is among it: whoever uses it is told that it is that. */
  find(ref: Ref): Item | undefined;
  /** All of an organisation that the data plane sees, oldest first; the same array until one of them changes. */
  items(kind: SavedKind, organisationId: string): readonly Item[];
  size(): number;
}

interface Held {
  readonly row: SavedRow;
  /** Undefined = not made yet. */
  item: Item | null | undefined;
}

/** All of one kind in one organisation. */
interface Group {
  readonly held: Map<string, Held>;
  list: readonly Held[] | null;
  rows: readonly SavedRow[] | null;
  items: readonly Item[] | null;
}

export function createRowIndex(sealer: Pick<Sealer, "fingerprint">): RowIndex {
  const byId = new Map<string, Held>();
  const byName = new Map<string, Held>();
  const byHash = new Map<string, Held>();
  const groups = new Map<string, Group>();

  function unlink(held: Held): void {
    const { row } = held;
    byId.delete(idKey(row.kind, row.id));
    if (byName.get(slugKey(row)) === held) byName.delete(slugKey(row));
    for (const hash of row.keyHashes) if (byHash.get(bytesOf(hash)) === held) byHash.delete(bytesOf(hash));
    const group = groups.get(groupKey(row.kind, row.organisationId));
    group?.held.delete(row.id);
    forget(group);
    if (group?.held.size === 0) groups.delete(groupKey(row.kind, row.organisationId));
  }

  function link(held: Held): void {
    const { row } = held;
    byId.set(idKey(row.kind, row.id), held);
    byName.set(slugKey(row), held);
    for (const hash of row.keyHashes) byHash.set(bytesOf(hash), held);
    const key = groupKey(row.kind, row.organisationId);
    const group = groups.get(key) ?? { held: new Map(), list: null, rows: null, items: null };
    groups.set(key, group);
    group.held.set(row.id, held);
    forget(group);
  }

  function itemOf(held: Held): Item | null {
    held.item ??= held.row.resource === null ? null : makeItem(held.row, sealer);
    return held.item;
  }

  function seen(held: Held | undefined): Item | undefined {
    return held === undefined ? undefined : (itemOf(held) ?? undefined);
  }

  function holder(kind: string, organisationId: string, idOrSlug: string): Held | undefined {
    const named = byName.get(nameKey(kind, organisationId, idOrSlug));
    if (named !== undefined) return named;
    const found = byId.get(idKey(kind, idOrSlug));
    return found?.row.organisationId === organisationId ? found : undefined;
  }

  function key({ id, keyHash, tenant }: Ref): Item | undefined {
    if (keyHash.length > 0) return seen(byHash.get(keyHash.toString("latin1")));
    const found = byId.get(idKey("api_key", id));
    const organisationId = tenant?.organisationId ?? "";
    return organisationId === "" || found?.row.organisationId === organisationId ? seen(found) : undefined;
  }

  function listed(group: Group): readonly Held[] {
    group.list ??= [...group.held.values()].sort((left, right) => byAge(left.row, right.row));
    return group.list;
  }

  return {
    set(kind, id, row) {
      const before = byId.get(idKey(kind, id));
      if (before !== undefined) unlink(before);
      if (row !== null) link({ row, item: undefined });
      return before?.row;
    },
    get: (kind, organisationId, idOrSlug) => holder(kind, organisationId, idOrSlug)?.row,
    list(kind, organisationId) {
      const group = groups.get(groupKey(kind, organisationId));
      if (group === undefined) return [];
      group.rows ??= listed(group).map(({ row }) => row);
      return group.rows;
    },
    find(ref) {
      if (ref.kind === "api_key") return key(ref);
      const { organisationId = "", workspaceId = "" } = ref.tenant ?? {};
      if (ref.kind === "organisation") return seen(byId.get(idKey("organisation", organisationId)));
      const found = seen(holder(ref.kind, organisationId, ref.id));
      return found === undefined || ref.kind === "workspace" || isSeenIn(found, workspaceId) ? found : undefined;
    },
    items(kind, organisationId) {
      const group = groups.get(groupKey(kind, organisationId));
      if (group === undefined) return NONE;
      group.items ??= listed(group).flatMap((held) => itemOf(held) ?? []);
      return group.items;
    },
    size: () => byId.size,
  };
}

const NONE: readonly Item[] = [];

function forget(group: Group | undefined): void {
  if (group === undefined) return;
  group.list = null;
  group.rows = null;
  group.items = null;
}

function makeItem(row: SavedRow, sealer: Pick<Sealer, "fingerprint">): Item {
  const { kind, id, slug, organisationId, workspaceId, resource, sealed, keyHashes } = row;
  const [hash] = keyHashes;
  const workspaceAccess = workspaceAccessOf(row);
  return {
    kind,
    id: kind === "api_key" ? id : slug,
    organisationId,
    workspaceId,
    json: bufferOfJson(resource),
    sealed: sealed ?? undefined,
    // Of all that it says, not of its number: a row that comes back from a backup may have a number again.
    version: sealer.fingerprint(textOfRow(row)),
    keyHash: hash === undefined ? null : Buffer.from(hash, "hex"),
    ...(workspaceAccess === undefined ? {} : { workspaceAccess }),
  };
}

function byAge(left: SavedRow, right: SavedRow): number {
  return left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1);
}

function bytesOf(hash: string): string {
  return Buffer.from(hash, "hex").toString("latin1");
}

function groupKey(kind: string, organisationId: string): string {
  return `${kind}\n${organisationId}`;
}
