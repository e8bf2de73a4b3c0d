import { endpointTypeOf } from "./endpoint-type.ts";
import { METADATA_PREFIX, type PolicyKey } from "./keys.ts";

/** What is known of a request, by the keys of policies; "" = it has no such value. */
export interface PolicyContext {
  readonly values: Readonly<Record<PolicyKey, string>>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Who asks, and of whom; the part of a reservation's subject that policies look at. Empty texts are unknown. */
interface Subject {
  readonly apiKeyId: string;
  readonly provider: string;
  readonly slug: string;
  readonly configId: string;
  readonly promptId: string;
  readonly model: string;
}

/** Of an inline config, which has no name. */
const INLINE_CONFIG = "sha256:";

/** The context of one target; before there is one, provider, slug and model are empty. */
export function policyContext(
  tenant: { readonly organisationId: string; readonly workspaceId: string },
  subject: Subject,
  facts: { readonly path: string; readonly metadata: Readonly<Record<string, string>> },
): PolicyContext {
  const { apiKeyId, provider, slug, configId, promptId, model } = subject;
  return {
    values: {
      api_key: apiKeyId,
      organisation_id: tenant.organisationId,
      workspace_id: tenant.workspaceId,
      virtual_key: slug,
      provider,
      config: configId.startsWith(INLINE_CONFIG) ? "" : configId,
      prompt: promptId,
      model: model === "" ? "" : `@${slug === "" ? provider : slug}/${model}`,
      endpoint_type: endpointTypeOf(facts.path),
    },
    metadata: facts.metadata,
  };
}

/** The context's value of a key; "" when it has none, or the key is unknown. */
export function contextValue(context: PolicyContext, key: string): string {
  if (!key.startsWith(METADATA_PREFIX)) return Object.hasOwn(context.values, key) ? context.values[key as PolicyKey] : "";
  const name = key.slice(METADATA_PREFIX.length);
  return Object.hasOwn(context.metadata, name) ? (context.metadata[name] ?? "") : "";
}
