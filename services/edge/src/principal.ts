import type { Tenant } from "@unigate/contracts";
import { type ApiKeyResource, GatewayError } from "@unigate/core";
import type { ResourceRef } from "@unigate/resolve";

/** Who is calling, after authentication. */
export interface Principal {
  readonly key: ApiKeyResource;
  readonly tenant: Tenant;
  /** Where the workspace's defaults are found. */
  readonly workspace: ResourceRef;
  /** Where the organisation's policies are found. */
  readonly policySet: ResourceRef;
}

const EXPIRY_TOLERANCE_MS = 5_000;

/** The principal of a key. An organisation key works in the organisation's default workspace. */
export function principalOf(key: ApiKeyResource): Principal {
  const organisationId = key.organisation_id;
  const workspaceId = key.workspace_id ?? "ws-default";
  const tenant = { organisationId, workspaceId };
  return {
    key,
    tenant,
    workspace: { kind: "workspace", id: workspaceId, tenant },
    policySet: { kind: "policy_set", id: organisationId, tenant: { organisationId, workspaceId: "" } },
  };
}

/** Expiry is checked on every request against the local clock, with 5 s of tolerance (DESIGN 8.20). */
export function refuseExpired(principal: Principal, now: number): void {
  const { expires_at } = principal.key;
  if (expires_at !== null && now > expires_at + EXPIRY_TOLERANCE_MS) throw new GatewayError("key_expired");
}

/** Any one of `scopes` is enough (behaviour 9.1). */
export function requireScope(principal: Principal, scopes: readonly string[]): void {
  if (scopes.length === 0) return;
  const held = principal.key.scopes;
  if (held.includes("*") || scopes.some((scope) => held.includes(scope))) return;
  throw new GatewayError(
    "scope_missing",
    `The API key lacks the scope ${scopes.map((scope) => `"${scope}"`).join(" or ")} that this endpoint needs.`,
  );
}
