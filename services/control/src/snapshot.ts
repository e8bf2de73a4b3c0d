import type { Ref } from "@unigate/contracts";
import { bufferOfJson, jsonOf, type ProviderResource } from "@unigate/core";
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
    const place = `${organisationId}\n${workspaceId}`;
    const made = lists.get(place);
    if (made !== undefined) return made;
    const seen = items.filter((item) => item.kind === "provider" && named("provider", organisationId, workspaceId, item.id) === item);
    const json = { providers: seen.map((item) => jsonOf(item.json) as ProviderResource) };
    const version = sealer.fingerprint(seen.map((item) => item.version).join());
    const list: Item = {
      kind: "providers",
      id: "",
      organisationId,
      workspaceId,
      json: bufferOfJson(json),
      sealed: undefined,
      version,
      keyHash: null,
    };
    // Tenants come from keys, so they are as many as workspaces; what is asked for beyond them is not kept.
    if (lists.size < 10_000) lists.set(place, list);
    return list;
  }

  return {
    items,
    find(ref) {
      if (ref.kind === "api_key") return key(ref);
      const { organisationId = "", workspaceId = "" } = ref.tenant ?? {};
      const organisation = byName.get(nameOf("organisation", organisationId, organisationId))?.[0];
      if (organisation === undefined) return undefined;
      if (ref.kind === "organisation") return ref.id === "" || ref.id === organisationId ? organisation : undefined;
      if (ref.kind === "policy_set") return { ...organisation, kind: "policy_set", json: NO_POLICIES, version: "none" };
      if (ref.kind === "providers") return providers(organisationId, workspaceId);
      return named(ref.kind, organisationId, workspaceId, ref.id);
    },
  };
}

/** Policies are not available yet. */
const NO_POLICIES = bufferOfJson({ rate_limits: [], usage_limits: [] });

function nameOf(kind: string, organisationId: string, id: string): string {
  return `${kind}\n${organisationId}\n${id}`;
}
