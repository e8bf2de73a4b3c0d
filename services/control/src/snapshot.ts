import type { Ref } from "@unigate/contracts";
import { bufferOfJson, jsonOf, type PolicySetResource, type ProviderResource, type RateLimitPolicy } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";
import { type Draft, finishDraft, type Item, placeOf } from "./item.ts";
import { tenantDrafts } from "./tenants.ts";

/** Everything control knows at one moment. Never changed: a reload makes another one. */
export interface Snapshot {
  /** The thing that a ref names, as its tenant may see it; undefined when there is none, or behind a wall. */
  find(ref: Ref): Item | undefined;
  readonly items: readonly Item[];
}

/** Makes the snapshot of `drafts`, keeping every item of `before` that is unchanged. */
export function makeSnapshot(drafts: readonly Draft[], before: Snapshot | null, sealer: Pick<Sealer, "fingerprint">): Snapshot {
  const known = new Map(before?.items.map((item) => [placeOf(item), item]));
  const items = [...tenantDrafts(drafts), ...drafts].map((draft) => finishDraft(draft, known.get(placeOf(draft)), sealer));
  return indexed(items, sealer);
}

function indexed(items: readonly Item[], sealer: Pick<Sealer, "fingerprint">): Snapshot {
  const byName = new Map<string, Item[]>();
  const byHash = new Map<string, Item>();
  const keys = new Map<string, Item>();
  const lists = new Map<string, Item>();
  for (const item of items) {
    const name = nameOf(item.kind, item.organisationId, item.id);
    byName.set(name, [...(byName.get(name) ?? []), item]);
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

  /** The list of all providers that a tenant sees, made once a tenant. */
  function providers(organisationId: string, workspaceId: string): Item {
    return list("providers", "", organisationId, workspaceId, () => {
      const seen = items.filter((item) => item.kind === "provider" && named("provider", organisationId, workspaceId, item.id) === item);
      return { seen, json: { providers: seen.map((item) => jsonOf(item.json) as ProviderResource) } };
    });
  }

  /** All policies of an organisation; what holds for a workspace only says so itself. */
  function policySet(organisationId: string): Item {
    return list("policy_set", organisationId, organisationId, "", () => {
      const seen = items.filter((item) => item.kind === "rate_limit_policy" && item.organisationId === organisationId);
      const json: PolicySetResource = { rate_limits: seen.map((item) => jsonOf(item.json) as RateLimitPolicy), usage_limits: [] };
      return { seen, json };
    });
  }

  function list(
    kind: string,
    id: string,
    organisationId: string,
    workspaceId: string,
    make: () => { readonly seen: readonly Item[]; readonly json: object },
  ): Item {
    const place = placeOf({ kind, id, organisationId, workspaceId });
    const known = lists.get(place);
    if (known !== undefined) return known;
    const { seen, json } = make();
    const version = sealer.fingerprint(seen.map((item) => item.version).join());
    const made: Item = { kind, id, organisationId, workspaceId, json: bufferOfJson(json), sealed: undefined, version, keyHash: null };
    // Tenants come from keys, so they are as many as workspaces; what is asked for beyond them is not kept.
    if (lists.size < 10_000) lists.set(place, made);
    return made;
  }

  return {
    items,
    find(ref) {
      if (ref.kind === "api_key") return key(ref);
      const { organisationId = "", workspaceId = "" } = ref.tenant ?? {};
      const organisation = byName.get(nameOf("organisation", organisationId, organisationId))?.[0];
      if (organisation === undefined) return undefined;
      const isOwn = ref.id === "" || ref.id === organisationId;
      if (ref.kind === "organisation") return isOwn ? organisation : undefined;
      if (ref.kind === "policy_set") return isOwn ? policySet(organisationId) : undefined;
      if (ref.kind === "providers") return providers(organisationId, workspaceId);
      return named(ref.kind, organisationId, workspaceId, ref.id);
    },
  };
}

function nameOf(kind: string, organisationId: string, id: string): string {
  return `${kind}\n${organisationId}\n${id}`;
}
