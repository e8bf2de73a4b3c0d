import { createHash, timingSafeEqual } from "node:crypto";
import { type ApiKeyResource, type Call, GatewayError, Secret } from "@unigate/core";
import type { Resolver, ResourceRef } from "@unigate/resolve";
import { hashOfKey, looksLikeGatewayKey } from "@unigate/secrets";
import type { ClientHeaders } from "./client-headers.ts";
import { type Principal, principalOf } from "./principal.ts";

/** What the identity headers of a request amount to. */
export interface Identity {
  readonly principal: Principal;
  /** The provider's credential that the client sent along; never the gateway key. */
  readonly credential: Secret | null;
}

const OWN_HEADER = "x-gateway-api-key";
/** Read in this order after x-gateway-api-key, so that the official SDKs work with only a base URL and a key. */
const SHARED_HEADERS = ["authorization", "x-api-key", "api-key", "x-goog-api-key"] as const;
const NO_TENANT = { organisationId: "", workspaceId: "" };

/**
 * Finds out who calls (DESIGN section 1 and 8.21). A present `x-gateway-api-key` alone decides; in the other four
 * headers a value that is no gateway key is the provider's credential and never leaves for a look-up.
 * Throws missing_key, invalid_key or identity_unavailable.
 */
export async function authenticate(resolver: Resolver, headers: ClientHeaders, call: Call): Promise<Identity> {
  const own = headers[OWN_HEADER];
  let key: string | null = null;
  let credential: Secret | null = null;
  for (const name of SHARED_HEADERS) {
    const text = headers[name];
    if (text === undefined) continue;
    const value = name === "authorization" ? bearerValue(text) : text;
    if (value === "") continue;
    if (refs.has(value) || looksLikeGatewayKey(value) || (await isAdminKey(resolver, value, call))) {
      if (own === undefined) key ??= value;
    } else {
      credential ??= new Secret(value);
    }
  }
  if (own !== undefined) key = own;
  if (key === null) {
    throw new GatewayError("missing_key", "No gateway API key was sent; send it as x-gateway-api-key or as Authorization: Bearer ugw-...");
  }
  return { principal: await principalOfKey(resolver, key, call), credential };
}

/** The value of "Bearer x"; any other scheme is taken whole. */
function bearerValue(text: string): string {
  return /^bearer /i.test(text) ? text.slice(7).trim() : text;
}

async function principalOfKey(resolver: Resolver, key: string, call: Call): Promise<Principal> {
  if (!refs.has(key) && !looksLikeGatewayKey(key) && !(await isAdminKey(resolver, key, call)))
    throw new GatewayError("invalid_key", malformedHint(key));
  const ref = refOfKey(key);
  const known = resolver.peek<ApiKeyResource>(ref) ?? (await resolver.resolve<ApiKeyResource>(ref, call));
  if (known === null)
    throw new GatewayError(
      "invalid_key",
      "The gateway API key is not known. It may have been deleted, or it belongs to another installation.",
    );
  let principal = principals.get(known.value);
  if (principal === undefined) {
    principal = principalOf(known.value);
    principals.set(known.value, principal);
  }
  return principal;
}

/**
 * References by the text of keys whose form was checked: checking and hashing one costs more than all the rest of a
 * known key's look-up.
 */
const refs = new Map<string, ResourceRef>();
const MAX_REFS = 10_000;

function refOfKey(key: string): ResourceRef {
  let ref = refs.get(key);
  if (ref === undefined) {
    ref = { kind: "api_key", id: "", tenant: NO_TENANT, keyHash: hashOfKey(key) };
    if (refs.size >= MAX_REFS) refs.clear();
    refs.set(key, ref);
  }
  return ref;
}

const principals = new WeakMap<ApiKeyResource, Principal>();

/** Says how a key looks, so that a cut or mistyped one is recognised; shows nothing of it. */
function malformedHint(key: string): string {
  return key.startsWith("ugw-")
    ? "The gateway API key is not valid: it is cut or mistyped."
    : 'The gateway API key is not valid: expected a key that starts with "ugw-", or the admin key.';
}

/** The edge knows the admin key's hash and compares locally, in constant time. */
async function isAdminKey(resolver: Resolver, value: string, call: Call): Promise<boolean> {
  const ref = { kind: "api_key", id: "admin", tenant: NO_TENANT } as const;
  const admin = resolver.peek<ApiKeyResource>(ref) ?? (await resolver.resolve<ApiKeyResource>(ref, call));
  if (admin === null) return false;
  const digest = createHash("sha256").update(value).digest();
  const expected = Buffer.from(admin.value.key_sha256, "hex");
  return digest.length === expected.length && timingSafeEqual(digest, expected);
}
