import type { Ref } from "@unigate/contracts";
import type { Sealer } from "@unigate/secrets";
import { type Draft, finishDraft, type Item, placeOf } from "./item.ts";
import { tenantDrafts } from "./tenants.ts";

/** All that is declared, or given by the environment, at one moment. Never changed: a reload makes another one. */
export interface Snapshot {
  /** The one thing that a ref names, as its tenant may see it; undefined when there is none, or behind a wall. Knows no lists. */
  find(ref: Ref): Item | undefined;
  /** Every thing of a kind that a tenant sees. */
  seen(kind: string, organisationId: string, workspaceId: string): readonly Item[];
  /** Every thing of a kind in an organisation, whatever workspace it belongs to. */
  all(kind: string, organisationId: string): readonly Item[];
  readonly items: readonly Item[];
}

/** Makes the snapshot of `drafts`, keeping every item of `before` that is unchanged. */
export function makeSnapshot(drafts: readonly Draft[], before: Snapshot | null, sealer: Pick<Sealer, "fingerprint">): Snapshot {
  const known = new Map(before?.items.map((item) => [placeOf(item), item]));
  const items = [...tenantDrafts(drafts), ...drafts].map((draft) => finishDraft(draft, known.get(placeOf(draft)), sealer));
  return indexed(items);
}

function indexed(items: readonly Item[]): Snapshot {
  const byName = new Map<string, Item[]>();
  const byHash = new Map<string, Item>();
  const keys = new Map<string, Item>();
  const byKind = new Map<string, Item[]>();
  for (const item of items) {
    add(byName, nameOf(item.kind, item.organisationId, item.id), item);
    add(byKind, nameOf(item.kind, item.organisationId, ""), item);
    if (item.keyHash === null) continue;
    byHash.set(item.keyHash.toString("latin1"), item);
    keys.set(item.id, item);
  }

  /** A workspace's own thing, or else one that all workspaces of the organisation see. */
  function named(kind: string, organisationId: string, workspaceId: string, id: string): Item | undefined {
    const found = byName.get(nameOf(kind, organisationId, id));
    return (
      found?.find((item) => item.workspaceId !== null && item.workspaceId === workspaceId) ??
      found?.find((item) => item.workspaceId === null)
    );
  }

  function key({ id, keyHash, tenant }: Ref): Item | undefined {
    if (keyHash.length > 0) return byHash.get(keyHash.toString("latin1"));
    const found = keys.get(id);
    // The admin key is asked for before anyone's organisation is known.
    const organisationId = tenant?.organisationId ?? "";
    return organisationId === "" || found?.organisationId === organisationId ? found : undefined;
  }

  function all(kind: string, organisationId: string): readonly Item[] {
    return byKind.get(nameOf(kind, organisationId, "")) ?? [];
  }

  return {
    items,
    all,
    seen: (kind, organisationId, workspaceId) =>
      all(kind, organisationId).filter((item) => named(kind, organisationId, workspaceId, item.id) === item),
    find(ref) {
      if (ref.kind === "api_key") return key(ref);
      const { organisationId = "", workspaceId = "" } = ref.tenant ?? {};
      return named(ref.kind, organisationId, workspaceId, ref.kind === "organisation" ? organisationId : ref.id);
    },
  };
}

function add(lists: Map<string, Item[]>, name: string, item: Item): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}

function nameOf(kind: string, organisationId: string, id: string): string {
  return `${kind}\n${organisationId}\n${id}`;
}
