import type { Header, Sealed, Target } from "@unigate/contracts";
import {
  type CompiledLeaf,
  CREDENTIAL_FIELDS,
  fieldName,
  GatewayError,
  nearestName,
  type ProviderResource,
  SETTING_FIELDS,
  slugOf,
} from "@unigate/core";
import { findProvider, type Provider, providers } from "@unigate/providers";
import { sealedFromText } from "@unigate/secrets";
import type { ClientHeaders } from "../../client-headers.ts";
import { forwardedHeaders } from "../forwarded-headers.ts";
import type { Run } from "../run-state.ts";

/** A leaf with its provider and credentials found: ready to be called. */
export interface ResolvedTarget {
  readonly provider: Provider;
  /** Slug of the saved provider, "" for an inline one. */
  readonly slug: string;
  readonly resource: ProviderResource | null;
  readonly target: Target;
}

/**
 * Where a leaf goes and with whose credential (spec 5, DESIGN 8.4). `model` is the body's or the query's.
 * Throws the GatewayError that is this attempt's outcome: a fallback goes on.
 */
export async function resolveTarget(run: Run, leaf: CompiledLeaf, model: string | undefined): Promise<ResolvedTarget> {
  const { destination } = leaf;
  switch (destination.kind) {
    case "slug":
      return savedTarget(run, leaf, destination.slug);
    case "provider":
      return inlineTarget(run, leaf, destination.provider);
    case "prompt":
      throw new GatewayError("prompt_not_supported", undefined, { param: "prompt_id" });
    default:
      return requestTarget(run, leaf, model);
  }
}

/** Header `@slug` over virtual key over the model's slug over a plain provider header (behaviour 1.1). */
function requestTarget(run: Run, leaf: CompiledLeaf, model: string | undefined): Promise<ResolvedTarget> {
  const { headers } = run.request;
  const named = headers["x-gateway-provider"];
  if (named?.startsWith("@") === true) return savedTarget(run, leaf, slugOf(named));
  const virtualKey = headers["x-gateway-virtual-key"];
  if (virtualKey !== undefined) return savedTarget(run, leaf, slugOf(virtualKey));
  const slug = slugOfModel(model);
  if (slug !== null) return savedTarget(run, leaf, slug);
  if (named !== undefined) return inlineTarget(run, leaf, named);
  throw new GatewayError(
    "provider_required",
    'No provider was named. Send x-gateway-provider ("openai" or "@slug"), x-gateway-virtual-key, x-gateway-config, or a model written "@slug/model".',
    { param: "x-gateway-provider" },
  );
}

/** The slug of "@slug/model"; Workers AI names ("@cf/...", "@hf/...") are models. */
export function slugOfModel(model: string | undefined): string | null {
  if (model === undefined || !model.startsWith("@") || model.startsWith("@cf/") || model.startsWith("@hf/")) return null;
  const slash = model.indexOf("/");
  return slash > 1 ? model.slice(1, slash) : null;
}

async function savedTarget(run: Run, leaf: CompiledLeaf, slug: string): Promise<ResolvedTarget> {
  const found = await savedProvider(run, slug);
  if (found === null)
    throw new GatewayError("unknown_provider", `There is no saved provider "@${slug.slice(0, 80)}" in this workspace.`, {
      param: "provider",
    });
  return withSaved(run, leaf, found);
}

interface SavedProvider {
  readonly value: ProviderResource;
  readonly sealed: Sealed | undefined;
}

async function savedProvider(run: Run, slug: string): Promise<SavedProvider | null> {
  const ref = { kind: "provider", id: slug, tenant: run.request.principal.tenant } as const;
  return run.deps.resolver.peek<ProviderResource>(ref) ?? (await run.deps.resolver.resolve<ProviderResource>(ref, run.call));
}

function withSaved(run: Run, leaf: CompiledLeaf, { value, sealed }: SavedProvider): ResolvedTarget {
  refuseProvider(run, value.slug, `@${value.slug}`);
  const foreignHost = callersHost(run, leaf);
  if (foreignHost !== null && !value.allow_custom_host) {
    throw new GatewayError(
      "invalid_custom_host",
      `A custom host cannot be combined with the saved credential of "@${value.slug}": that provider does not allow it.`,
      {
        param: "custom_host",
      },
    );
  }
  const settings =
    Object.keys(value.settings).length === 0 ? leaf.settingsJson : Buffer.from(JSON.stringify({ ...value.settings, ...settingsOf(leaf) }));
  const target = makeTarget(run, leaf, {
    provider: value.provider,
    slug: value.slug,
    settings,
    credentials: [],
    sealed,
    sealedFor: sealed === undefined ? "" : `provider/${value.slug}`,
    customHost: foreignHost ?? leaf.customHost ?? value.custom_host ?? "",
  });
  return { provider: catalogueEntry(value.provider), slug: value.slug, resource: value, target };
}

async function inlineTarget(run: Run, leaf: CompiledLeaf, name: string): Promise<ResolvedTarget> {
  const provider = catalogueEntry(name);
  refuseProvider(run, provider.id, provider.id);
  const { headers } = run.request;
  const fromHeaders = headerFields(headers);
  const credentials: Header[] = [...fromHeaders.credentials];
  const own = run.config.credentials.get(leaf.optionPath);
  for (const field in own) credentials.push({ name: field, value: own[field] ?? "" });
  if (credentials.length === 0 && leaf.sealedCredentials === null && run.request.credential !== null) {
    const [field] = provider.auth.fields;
    if (field !== undefined) credentials.push({ name: field, value: run.request.credential.reveal() });
  }
  const host = callersHost(run, leaf) ?? leaf.customHost;
  if (credentials.length === 0 && leaf.sealedCredentials === null && !provider.keyless && host === null) {
    const saved = await savedProvider(run, provider.id);
    if (saved !== null && saved.value.provider === provider.id) return withSaved(run, leaf, saved);
    const variable = provider.envKey === null ? "" : `, or start the gateway with ${provider.envKey}`;
    throw new GatewayError(
      "credential_required",
      `Provider "${provider.id}" needs a credential: send Authorization: Bearer <provider key>, name a saved provider "@slug"${variable}.`,
      {
        param: "authorization",
      },
    );
  }
  const target = makeTarget(run, leaf, {
    provider: provider.id,
    slug: "",
    settings:
      fromHeaders.settings === null ? leaf.settingsJson : Buffer.from(JSON.stringify({ ...settingsOf(leaf), ...fromHeaders.settings })),
    credentials,
    sealed: leaf.sealedCredentials === null ? undefined : sealedFromText(leaf.sealedCredentials),
    sealedFor: leaf.sealedCredentials === null ? "" : `${run.config.id}/${leaf.optionPath}`,
    customHost: host ?? "",
  });
  return { provider, slug: "", resource: null, target };
}

/** A key that is bound to providers may not go past them with a credential of its own. */
function refuseProvider(run: Run, name: string, shown: string): void {
  const allowed = run.request.principal.key.allowed_providers;
  if (allowed === null || allowed.includes(name)) return;
  throw new GatewayError("provider_not_allowed", `The API key may not use the provider "${shown}".`, { param: "provider" });
}

/** The custom host that the caller itself named; a saved config's is not one. */
function callersHost(run: Run, leaf: CompiledLeaf): string | null {
  const header = run.request.headers["x-gateway-custom-host"];
  if (header !== undefined && header !== "") return header;
  return run.config.origin === "inline" ? leaf.customHost : null;
}

function catalogueEntry(name: string): Provider {
  const provider = findProvider(name);
  if (provider !== undefined) return provider;
  const near = nearestName(
    name,
    providers.map((known) => known.id),
  );
  const hint = near === null ? "" : ` Did you mean "${near}"?`;
  throw new GatewayError("unknown_provider", `There is no provider "${name.slice(0, 80)}".${hint}`, { param: "provider" });
}

interface TargetParts {
  readonly provider: string;
  readonly slug: string;
  readonly settings: Buffer;
  readonly credentials: Header[];
  readonly sealed: Sealed | undefined;
  readonly sealedFor: string;
  readonly customHost: string;
}

function makeTarget(run: Run, leaf: CompiledLeaf, parts: TargetParts): Target {
  const { headers } = run.request;
  return {
    provider: parts.provider,
    slug: parts.slug,
    settingsJson: parts.settings,
    inlineCredentials: parts.credentials,
    sealed: parts.sealed,
    sealedFor: parts.sealedFor,
    customHost: parts.customHost,
    strict: headers["x-gateway-strict-compat-compliance"] !== "false" && leaf.strict !== false,
    forward: forwardedHeaders(headers, leaf.forwardHeaders),
  };
}

function settingsOf(leaf: CompiledLeaf): Record<string, unknown> {
  return leaf.settingsJson.length === 0 ? {} : (JSON.parse(leaf.settingsJson.toString("utf8")) as Record<string, unknown>);
}

/** `x-gateway-azure-resource-name` and its like: config fields spelled as headers (behaviour 1.1). */
function headerFields(headers: ClientHeaders): { credentials: Header[]; settings: Record<string, string> | null } {
  const credentials: Header[] = [];
  let settings: Record<string, string> | null = null;
  for (const name in headers) {
    if (!name.startsWith("x-gateway-")) continue;
    const field = fieldName(name.slice("x-gateway-".length).replaceAll("-", "_"));
    const value = headers[name] ?? "";
    if (field !== "api_key" && CREDENTIAL_FIELDS.includes(field)) credentials.push({ name: field, value });
    else if (SETTING_FIELDS.includes(field)) {
      settings ??= {};
      settings[field] = value;
    }
  }
  return { credentials, settings };
}
