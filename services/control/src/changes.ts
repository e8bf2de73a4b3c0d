import type { Ref } from "@unigate/contracts";
import { type Item, placeOf } from "./item.ts";
import type { Snapshot } from "./snapshot.ts";

const NO_HASH = Buffer.alloc(0);

/** What changed between two snapshots, as refs: enough for every cache to know what it holds of them. */
export function changesBetween(before: Snapshot, after: Snapshot): Ref[] {
  const [old, now] = [placed(before), placed(after)];
  const refs: Ref[] = [];
  const lists = new Map<string, Ref>();
  for (const place of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(place), now.get(place)];
    if (was?.version === is?.version) continue;
    const item = is ?? was;
    if (item === undefined) continue;
    refs.push(refOf(item));
    // A key that has another text: its old text must be forgotten as well.
    if (was?.keyHash && is?.keyHash && !was.keyHash.equals(is.keyHash)) refs.push(refOf(was));
    const list = listRef(item.kind, item.organisationId);
    if (list !== null) lists.set(`${list.kind}\n${item.organisationId}`, list);
  }
  return [...refs, ...lists.values()];
}

/** The list that changes with each thing of a kind; null when there is none. The id of a policy_set is its organisation's. */
export function listRef(kind: string, organisationId: string): Ref | null {
  const tenant = { organisationId, workspaceId: "" };
  if (kind === "provider") return { kind: "providers", id: "", tenant, keyHash: NO_HASH, version: "" };
  if (kind === "rate_limit_policy") return { kind: "policy_set", id: organisationId, tenant, keyHash: NO_HASH, version: "" };
  return null;
}

function placed(snapshot: Snapshot): Map<string, Item> {
  return new Map(snapshot.items.map((item) => [placeOf(item), item]));
}

function refOf({ kind, id, organisationId, workspaceId, keyHash, version }: Item): Ref {
  return { kind, id, tenant: { organisationId, workspaceId: workspaceId ?? "" }, keyHash: keyHash ?? NO_HASH, version };
}
