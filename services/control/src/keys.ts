import { type ApiKeyResource, nearestName } from "@unigate/core";
import { hashOfKey, looksLikeGatewayKey } from "@unigate/secrets";
import type { DeclaredConfig, DeclaredKey } from "./declared/grammar.ts";
import { type Finding, quoted } from "./declared/problem.ts";
import { expandScope, SCOPES } from "./declared/scopes.ts";
import type { Draft } from "./item.ts";
import { rateLimitsOf } from "./rate-limits.ts";
import { DEFAULT_ORGANISATION, DEFAULT_WORKSPACE, isSeenIn, missingConfig } from "./tenants.ts";

/** Declared keys and what is wrong with them. `configs` are those that a default may name. */
export function declaredKeys(
  declared: readonly DeclaredKey[],
  configs: readonly DeclaredConfig[],
): { readonly drafts: readonly Draft[]; readonly findings: readonly Finding[] } {
  const findings: Finding[] = [];
  const drafts = declared.map((key, index) => {
    const path = `keys[${index}]`;
    const find = (field: string, message: string) => findings.push({ path: field === "" ? path : `${path}.${field}`, message });
    const resource = keyResource(key, find);
    const configId = resource.defaults.config_id;
    const seen = configs
      .filter((config) => isSeenIn(config, resource.organisation_id, resource.workspace_id ?? DEFAULT_WORKSPACE))
      .map(({ id }) => id);
    const missing = missingConfig(configId, seen, "declared config of this tenant");
    if (missing !== null) find("defaults.config_id", missing);
    return keyDraft(resource);
  });
  return { drafts, findings };
}

/** The draft of any api_key. */
export function keyDraft(resource: ApiKeyResource): Draft {
  return {
    kind: "api_key",
    id: resource.id,
    organisationId: resource.organisation_id,
    workspaceId: resource.workspace_id,
    keyHash: Buffer.from(resource.key_sha256, "hex"),
    content: resource,
    make: () => ({ json: resource }),
  };
}

function keyResource(key: DeclaredKey, find: (field: string, message: string) => void): ApiKeyResource {
  const { organisation = DEFAULT_ORGANISATION, type = "workspace-service" } = key;
  const isOrganisationKey = type === "organisation-service";
  if (isOrganisationKey && key.workspace !== undefined) find("workspace", "an organisation-service key has no workspace");
  return {
    id: idOf(organisation, key.name),
    name: key.name,
    type,
    organisation_id: organisation,
    workspace_id: isOrganisationKey ? null : (key.workspace ?? DEFAULT_WORKSPACE),
    scopes: scopesOf(key.scopes, find),
    ...keyRulesOf(key),
    key_sha256: hashOf(key, find),
  };
}

/** What a key allows. */
export type KeyRules = Pick<ApiKeyResource, "expires_at" | "defaults" | "rate_limits" | "allowed_models" | "allowed_providers">;

const NO_RULES: KeyRules = {
  expires_at: null,
  defaults: { config_id: null, metadata: {}, allow_config_override: true },
  rate_limits: [],
  allowed_models: null,
  allowed_providers: null,
};

/** The rules that are given; what is not given is as it was `before`. */
export function keyRulesOf(given: Pick<DeclaredKey, keyof KeyRules>, before: KeyRules = NO_RULES): KeyRules {
  const { defaults, expires_at, rate_limits, allowed_models, allowed_providers } = given;
  return {
    expires_at: expiryOf(expires_at, before.expires_at),
    defaults: {
      config_id: defaults?.config_id === undefined ? before.defaults.config_id : defaults.config_id,
      metadata: defaults?.metadata ?? before.defaults.metadata,
      allow_config_override: defaults?.allow_config_override ?? before.defaults.allow_config_override,
    },
    rate_limits: rate_limits === undefined ? before.rate_limits : rateLimitsOf(rate_limits),
    allowed_models: allowed_models === undefined ? before.allowed_models : allowed_models,
    allowed_providers: allowed_providers === undefined ? before.allowed_providers : allowed_providers,
  };
}

function expiryOf(given: DeclaredKey["expires_at"], before: number | null): number | null {
  if (given === undefined) return before;
  return given === null ? null : new Date(given).getTime();
}

/** "key-web" in the default organisation, "key-acme-web" in another: readable in logs, the same after every restart. */
function idOf(organisation: string, name: string): string {
  const words = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return organisation === DEFAULT_ORGANISATION ? `key-${words}` : `key-${organisation}-${words}`;
}

function hashOf(key: DeclaredKey, find: (field: string, message: string) => void): string {
  if (key.key_sha256 !== undefined && key.key === undefined) return key.key_sha256.toLowerCase();
  if (key.key === undefined || key.key_sha256 !== undefined) {
    find("", "expected either key or key_sha256");
    return "";
  }
  if (!looksLikeGatewayKey(key.key)) find("key", 'expected a gateway key: "ugw-" and 49 characters that end in the right checksum');
  return hashOfKey(key.key).toString("hex");
}

/** The scopes that words stand for, each once; a word that is none is found by its path. */
export function scopesOf(words: readonly string[], find: (field: string, message: string) => void): string[] {
  const scopes = words.flatMap((word, index) => {
    const expanded = expandScope(word);
    if (expanded !== null) return expanded;
    const near = nearestName(word, SCOPES);
    find(
      `scopes[${index}]`,
      `${quoted(word)} is no scope; ${near === null ? 'expected one such as completions.write, or "*"' : `did you mean "${near}"?`}`,
    );
    return [];
  });
  return [...new Set(scopes)];
}
