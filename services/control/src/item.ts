import type { Sealed } from "@unigate/contracts";
import { bufferOfJson } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";
import { mayUse, type WorkspaceAccess } from "./workspace-access.ts";

/** A saved thing as Resolve gives it out. */
export interface Item {
  readonly kind: string;
  readonly id: string;
  readonly organisationId: string;
  /** Null = visible in every workspace of the organisation. */
  readonly workspaceId: string | null;
  /** Its JSON (packages/core/src/resources.ts), without secrets. */
  readonly json: Buffer;
  readonly sealed: Sealed | undefined;
  /** Changes with every change of the thing, its secrets included, and tells nothing of them. */
  readonly version: string;
  /** SHA-256 of the key's text, of an api_key only. */
  readonly keyHash: Buffer | null;
  /** What says that it is there, for people: "unigate.yaml". Absent for what comes with the installation. */
  readonly source?: string;
  /** Of a provider of an integration: which of the workspaces that would see it may. */
  readonly workspaceAccess?: WorkspaceAccess;
}

/** Whether a workspace's requests see an item. */
export function isSeenIn({ workspaceId: own, workspaceAccess }: Item, workspaceId: string): boolean {
  return (own === null || own === workspaceId) && mayUse(workspaceAccess, workspaceId);
}

/** An item before it is sealed and versioned. */
export interface Draft {
  readonly kind: string;
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly keyHash?: Buffer;
  readonly source?: string;
  /** Everything that decides whether it changed, secrets included. Never kept. */
  readonly content: unknown;
  /** The thing's JSON and credentials, made only when it changed. */
  make(version: string): { readonly json: unknown; readonly sealed?: Sealed };
}

/** Where an item stands: two items of one snapshot never share it. */
export function placeOf(item: Pick<Item, "kind" | "id" | "organisationId" | "workspaceId">): string {
  return `${item.kind}\n${item.organisationId}\n${item.workspaceId ?? ""}\n${item.id}`;
}

/** The item of a draft; `before` itself when it is unchanged, so that nothing is sealed anew without need. */
export function finishDraft(draft: Draft, before: Item | undefined, sealer: Pick<Sealer, "fingerprint">): Item {
  const { kind, id, organisationId, workspaceId, source } = draft;
  const version = sealer.fingerprint(JSON.stringify([kind, organisationId, workspaceId, id, draft.content]));
  if (before?.version === version && before.source === source) return before;
  const { json, sealed } = draft.make(version);
  return {
    kind,
    id,
    organisationId,
    workspaceId,
    json: bufferOfJson(json),
    sealed,
    version,
    keyHash: draft.keyHash ?? null,
    ...(source === undefined ? {} : { source }),
  };
}
