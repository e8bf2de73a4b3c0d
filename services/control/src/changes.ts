import type { Ref } from "@unigate/contracts";
import { type Item, placeOf } from "./item.ts";
import type { Snapshot } from "./snapshot.ts";

const NO_HASH = Buffer.alloc(0);

/** What changed between two snapshots, as refs: enough for every cache to know what it holds of them. */
export function changesBetween(before: Snapshot, after: Snapshot): Ref[] {
  const [old, now] = [placed(before), placed(after)];
  const refs: Ref[] = [];
  const [withProviders, withPolicies] = [new Set<string>(), new Set<string>()];
  for (const place of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(place), now.get(place)];
    if (was?.version === is?.version) continue;
    const item = is ?? was;
    if (item === undefined) continue;
    refs.push(refOf(item));
    // A key that has another text: its old text must be forgotten as well.
    if (was?.keyHash && is?.keyHash && !was.keyHash.equals(is.keyHash)) refs.push(refOf(was));
    if (item.kind === "provider") withProviders.add(item.organisationId);
    if (item.kind === "rate_limit_policy") withPolicies.add(item.organisationId);
  }
  for (const organisationId of withProviders) refs.push(listRef("providers", "", organisationId));
  for (const organisationId of withPolicies) refs.push(listRef("policy_set", organisationId, organisationId));
  return refs;
}

function listRef(kind: "providers" | "policy_set", id: string, organisationId: string): Ref {
  return { kind, id, tenant: { organisationId, workspaceId: "" }, keyHash: NO_HASH, version: "" };
}

function placed(snapshot: Snapshot): Map<string, Item> {
  return new Map(snapshot.items.map((item) => [placeOf(item), item]));
}

function refOf({ kind, id, organisationId, workspaceId, keyHash, version }: Item): Ref {
  return { kind, id, tenant: { organisationId, workspaceId: workspaceId ?? "" }, keyHash: keyHash ?? NO_HASH, version };
}
