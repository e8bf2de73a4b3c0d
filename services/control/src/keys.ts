import { type ApiKeyResource, nearestName } from "@unigate/core";
import { hashOfKey, looksLikeGatewayKey } from "@unigate/secrets";
import type { DeclaredConfig, DeclaredKey } from "./declared/grammar.ts";
import { type Finding, quoted } from "./declared/problem.ts";
import { expandScope, SCOPES } from "./declared/scopes.ts";
import type { Draft } from "./item.ts";
import { rateLimitsOf } from "./rate-limits.ts";
import { DEFAULT_ORGANISATION, DEFAULT_WORKSPACE } from "./tenants.ts";

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
    if (configId !== null && !configs.some((config) => config.id === configId && seenBy(config, resource))) {
      const near = nearestName(
        configId,
        configs.map(({ id }) => id),
      );
      find(
        "defaults.config_id",
        `${quoted(configId)} is no declared config of this tenant${near === null || near === configId ? "" : `; did you mean "${near}"?`}`,
      );
    }
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
  const { organisation = DEFAULT_ORGANISATION, type = "workspace-service", defaults, expires_at } = key;
  const isOrganisationKey = type === "organisation-service";
  if (isOrganisationKey && key.workspace !== undefined) find("workspace", "an organisation-service key has no workspace");
  return {
    id: idOf(organisation, key.name),
    name: key.name,
    type,
    organisation_id: organisation,
    workspace_id: isOrganisationKey ? null : (key.workspace ?? DEFAULT_WORKSPACE),
    scopes: scopesOf(key.scopes, find),
    expires_at: expires_at === undefined ? null : new Date(expires_at).getTime(),
    defaults: {
      config_id: defaults?.config_id ?? null,
      metadata: defaults?.metadata ?? {},
      allow_config_override: defaults?.allow_config_override ?? true,
    },
    rate_limits: rateLimitsOf(key.rate_limits),
    allowed_models: key.allowed_models ?? null,
    allowed_providers: key.allowed_providers ?? null,
    key_sha256: hashOf(key, find),
  };
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

function scopesOf(words: readonly string[], find: (field: string, message: string) => void): string[] {
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

function seenBy(config: DeclaredConfig, key: ApiKeyResource): boolean {
  if ((config.organisation ?? DEFAULT_ORGANISATION) !== key.organisation_id) return false;
  return config.workspace === undefined || config.workspace === (key.workspace_id ?? DEFAULT_WORKSPACE);
}
