import { CREDENTIAL_FIELDS, type JsonObject, nearestName, type ProviderResource, SETTING_FIELDS } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";
import type { DeclaredProvider } from "./declared/grammar.ts";
import { below, type Finding, quoted, under } from "./declared/problem.ts";
import type { Draft } from "./item.ts";
import { rateLimitsOf } from "./rate-limits.ts";
import { DEFAULT_ORGANISATION } from "./tenants.ts";

/** What control needs to know of the catalogue (packages/providers). */
export interface CatalogueProvider {
  readonly id: string;
  readonly aliases?: readonly string[];
  /** Environment variable that registers it. */
  readonly envKey: string | null;
  /** Works without a credential. */
  readonly keyless?: boolean;
  /** Ids that are known. */
  readonly models?: readonly string[];
}

type SealingPart = Pick<Sealer, "seal">;

/** Providers whose key is in the environment, in the default organisation, with their id as slug (DESIGN section 1). */
export function environmentProviders(
  catalogue: readonly CatalogueProvider[],
  environment: Readonly<Record<string, string | undefined>>,
  sealer: SealingPart,
): Draft[] {
  return catalogue.flatMap(({ id, envKey }) => {
    const apiKey = envKey === null ? undefined : environment[envKey];
    if (apiKey === undefined || apiKey === "") return [];
    const json: ProviderResource = {
      slug: id,
      provider: id,
      organisation_id: DEFAULT_ORGANISATION,
      workspace_id: null,
      settings: {},
      custom_host: null,
      allow_custom_host: false,
      rate_limits: [],
    };
    return [{ ...providerDraft(json, { api_key: apiKey }, sealer), source: `the environment variable ${envKey}` }];
  });
}

/** Declared providers and what is wrong with them. */
export function declaredProviders(
  declared: readonly DeclaredProvider[],
  catalogue: readonly CatalogueProvider[],
  sealer: SealingPart,
): { readonly drafts: readonly Draft[]; readonly findings: readonly Finding[] } {
  const read = declared.map((item) => readProvider(item, catalogue));
  return {
    drafts: read.map(({ json, credentials }) => providerDraft(json, credentials, sealer)),
    findings: read.flatMap(({ findings }, index) => findings.map((finding) => under(below("providers", index), finding))),
  };
}

/** A provider whose shape is right, without its credentials, and what is wrong with what it says. */
export interface ReadProvider {
  readonly json: ProviderResource;
  readonly credentials: Readonly<Record<string, string>>;
  readonly findings: readonly Finding[];
}

/** Reads a provider of unigate.yaml or of the management API. `hasCredentials`: it has some already, which stay. */
export function readProvider(item: DeclaredProvider, catalogue: readonly CatalogueProvider[], hasCredentials = false): ReadProvider {
  const findings: Finding[] = [];
  const entry = catalogue.find(({ id, aliases }) => id === item.provider || aliases?.includes(item.provider) === true);
  if (entry === undefined) {
    const near = nearestName(
      item.provider,
      catalogue.map(({ id }) => id),
    );
    const hint = near === null ? "expected the id of a provider, such as openai" : `did you mean "${near}"?`;
    findings.push({ path: "provider", message: `${quoted(item.provider)} is no known provider; ${hint}` });
  }
  const credentials = credentialsOf(item);
  const settings = settingsOf(item);
  const customHost = item.custom_host === undefined || item.custom_host === "" ? null : item.custom_host;
  if (customHost !== null && !isHttpUrl(customHost))
    findings.push({ path: "custom_host", message: "expected a URL such as https://models.example.com/v1, without user and password" });
  const bare = !hasCredentials && Object.keys(credentials).length === 0 && Object.keys(settings).length === 0 && customHost === null;
  if (bare && entry !== undefined && entry.keyless !== true)
    findings.push({ path: "", message: `${entry.id} needs a credential; expected api_key, or the fields of its cloud` });
  const json: ProviderResource = {
    slug: item.slug,
    provider: entry?.id ?? item.provider,
    organisation_id: item.organisation ?? DEFAULT_ORGANISATION,
    workspace_id: item.workspace ?? null,
    settings,
    custom_host: customHost,
    allow_custom_host: item.allow_custom_host ?? false,
    rate_limits: rateLimitsOf(item.rate_limits),
  };
  return { json, credentials, findings };
}

function providerDraft(json: ProviderResource, credentials: Readonly<Record<string, string>>, sealer: SealingPart): Draft {
  const { slug, organisation_id, workspace_id } = json;
  return {
    kind: "provider",
    id: slug,
    organisationId: organisation_id,
    workspaceId: workspace_id,
    content: [json, credentials],
    make() {
      if (Object.keys(credentials).length === 0) return { json };
      return { json, sealed: sealer.seal(credentials, organisation_id, providerPlace(slug)) };
    },
  };
}

/** What a provider's credentials are sealed for: where its requests look for them. */
export function providerPlace(slug: string): string {
  return `provider/${slug}`;
}

function credentialsOf(item: DeclaredProvider): Record<string, string> {
  const fields: JsonObject = item;
  const credentials: Record<string, string> = {};
  for (const name of CREDENTIAL_FIELDS) {
    const value = fields[name];
    if (value !== undefined) credentials[name] = typeof value === "string" ? value : JSON.stringify(value);
  }
  return credentials;
}

function settingsOf(item: DeclaredProvider): JsonObject {
  const fields: JsonObject = item;
  return Object.fromEntries(SETTING_FIELDS.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]])));
}

/** Whether the address may be used is the egress guard's to say, when it is used. */
function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === "https:" || protocol === "http:") && username === "" && password === "";
}
