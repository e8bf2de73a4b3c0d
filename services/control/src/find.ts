import type { Ref } from "@unigate/contracts";
import { bufferOfJson, jsonOf } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";
import { type Item, isSeenIn, placeOf } from "./item.ts";
import type { LiveSaved } from "./saved/saved.ts";
import type { Snapshot } from "./snapshot.ts";
import { DEFAULT_WORKSPACE, emptyWorkspace } from "./tenants.ts";

/** The thing that a ref names, as its tenant may see it; undefined when there is none, or behind a wall. */
export type Find = (ref: Ref) => Item | undefined;

/** Lists that are kept: tenants come from keys, so they are as many as workspaces. */
const MOST_LISTS = 10_000;

type ListPlace = Pick<Item, "kind" | "id" | "organisationId" | "workspaceId">;

interface KeptList {
  readonly saved: readonly Item[];
  readonly item: Item;
}

/**
 * Finds what is declared and what is saved. Declared things win over saved ones of the same name; an organisation or
 * workspace that is saved wins over one that exists only because something declared names it.
 */
export function createFind(snapshot: () => Snapshot, saved: Pick<LiveSaved, "find" | "items">, sealer: Pick<Sealer, "fingerprint">): Find {
  const lists = new Map<string, KeptList>();
  let listsOf: Snapshot | null = null;

  /** A list that is made once and kept until what is declared or saved changes. */
  function list(of: ListPlace, savedItems: readonly Item[], seen: () => readonly Item[], jsonOfAll: (values: unknown[]) => object): Item {
    const declared = snapshot();
    if (listsOf !== declared) lists.clear();
    listsOf = declared;
    const place = placeOf(of);
    const kept = lists.get(place);
    if (kept?.saved === savedItems) return kept.item;
    const all = seen();
    const item: Item = {
      ...of,
      json: bufferOfJson(jsonOfAll(all.map((one) => jsonOf(one.json)))),
      sealed: undefined,
      version: sealer.fingerprint(all.map(({ version }) => version).join()),
      keyHash: null,
    };
    if (lists.size < MOST_LISTS || kept !== undefined) lists.set(place, { saved: savedItems, item });
    return item;
  }

  /** All providers that a tenant sees. */
  function providers(organisationId: string, workspaceId: string): Item {
    const savedItems = saved.items("provider", organisationId);
    const seen = () =>
      withoutNamesakes(
        snapshot().seen("provider", organisationId, workspaceId),
        savedItems.filter((item) => isSeenIn(item, workspaceId)),
      );
    return list({ kind: "providers", id: "", organisationId, workspaceId }, savedItems, seen, (all) => ({ providers: all }));
  }

  /** All policies of an organisation; what holds for a workspace only says so itself. */
  function policySet(organisationId: string): Item {
    const savedItems = saved.items("rate_limit_policy", organisationId);
    const place = { kind: "policy_set", id: organisationId, organisationId, workspaceId: "" };
    const seen = () => withoutNamesakes(snapshot().all("rate_limit_policy", organisationId), savedItems);
    return list(place, savedItems, seen, (all) => ({ rate_limits: all, usage_limits: [] }));
  }

  return (ref) => {
    if (ref.kind === "api_key") return snapshot().find(ref) ?? saved.find(ref);
    const { organisationId = "", workspaceId = "" } = ref.tenant ?? {};
    const organisation = { ...ref, kind: "organisation" };
    const found = saved.find(organisation) ?? snapshot().find(organisation);
    if (found === undefined) return undefined;
    const isOwn = ref.id === "" || ref.id === organisationId;
    switch (ref.kind) {
      case "organisation":
        return isOwn ? found : undefined;
      case "workspace":
        return saved.find(ref) ?? snapshot().find(ref) ?? (ref.id === DEFAULT_WORKSPACE ? defaultWorkspace(organisationId) : undefined);
      case "providers":
        return providers(organisationId, workspaceId);
      case "policy_set":
        return isOwn ? policySet(organisationId) : undefined;
      default:
        return snapshot().find(ref) ?? saved.find(ref);
    }
  };
}

/** Each organisation has a default workspace, whether anything says so or not. */
function defaultWorkspace(organisationId: string): Item {
  const json = bufferOfJson(emptyWorkspace(organisationId, DEFAULT_WORKSPACE));
  return {
    kind: "workspace",
    id: DEFAULT_WORKSPACE,
    organisationId,
    workspaceId: null,
    json,
    sealed: undefined,
    version: "0",
    keyHash: null,
  };
}

function withoutNamesakes(declared: readonly Item[], saved: readonly Item[]): readonly Item[] {
  if (declared.length === 0) return saved;
  const names = new Set(declared.map(({ id }) => id));
  return [...declared, ...saved.filter(({ id }) => !names.has(id))];
}
