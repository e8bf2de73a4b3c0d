import type { AdminRequest, Ref } from "@unigate/contracts";
import { type ApiKeyResource, GatewayError, jsonOf } from "@unigate/core";
import type { Saved } from "../saved/types.ts";
import type { Snapshot } from "../snapshot.ts";

/** Whose key a request was sent with. */
export interface Caller {
  readonly keyId: string;
  /** The one key that makes organisations and may name any of them. */
  readonly isAdmin: boolean;
  readonly organisationId: string;
  /** Null = an organisation key, which sees all workspaces. */
  readonly workspaceId: string | null;
  readonly scopes: readonly string[];
}

const NO_HASH = Buffer.alloc(0);

/** The caller as control knows its key now, not as the edge may have it cached. Throws invalid_key when it is gone. */
export function callerOf(
  api: { readonly saved: Pick<Saved, "get">; snapshot(): Snapshot },
  { principalId, tenant }: Pick<AdminRequest, "principalId" | "tenant">,
): Caller {
  const ref: Ref = { kind: "api_key", id: principalId, tenant, keyHash: NO_HASH, version: "" };
  const declared = api.snapshot().find(ref);
  const known =
    declared === undefined ? api.saved.get("api_key", tenant?.organisationId ?? "", principalId)?.resource : jsonOf(declared.json);
  if (known === undefined || known === null || principalId === "")
    throw new GatewayError("invalid_key", "The gateway API key has been deleted.");
  const key = known as ApiKeyResource;
  return {
    keyId: key.id,
    isAdmin: key.id === "admin",
    organisationId: key.organisation_id,
    workspaceId: key.workspace_id,
    scopes: key.scopes,
  };
}

/** Any one of `scopes` is enough. Throws scope_missing naming them. */
export function requireScope(caller: Caller, scopes: readonly string[]): void {
  if (scopes.some((scope) => holdsScope(caller, scope))) return;
  const named = scopes.map((scope) => `"${scope}"`).join(" or ");
  throw new GatewayError("scope_missing", `The API key lacks the scope ${named} that this endpoint needs.`);
}

export function holdsScope(caller: Caller, scope: string): boolean {
  return caller.scopes.includes("*") || caller.scopes.includes(scope);
}

/** Nobody hands out what he does not have. Throws scope_missing naming the first scope that is too much. */
export function requireAllScopes(caller: Caller, scopes: readonly string[], what: string): void {
  const missing = scopes.find((scope) => !holdsScope(caller, scope));
  if (missing !== undefined)
    throw new GatewayError("scope_missing", `The API key lacks the scope "${missing}" itself; ${what}.`, { param: "scopes" });
}
