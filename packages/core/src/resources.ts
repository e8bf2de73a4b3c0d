import type { JsonObject } from "./json.ts";
import type { ModelAccess } from "./model-access.ts";

/** A limit on a key or a provider. */
export interface RateLimit {
  /** "concurrency" = requests at one time. */
  readonly type: "requests" | "tokens" | "concurrency";
  /** A second, minute, hour, day or week; null for concurrency, and only there. */
  readonly unit: "rps" | "rpm" | "rph" | "rpd" | "rpw" | null;
  /** A whole number; 0 = blocked. */
  readonly value: number;
}

/** What a request must be for a policy to count it. */
export interface PolicyCondition {
  /** One of POLICY_KEYS, or "metadata." and a name. */
  readonly key: string;
  /** Any of these; "*" = any value at all. A model is written "@slug/model", and "@slug/*" is all of a provider's. */
  readonly value: string | readonly string[];
  /** Turns it round: every value but these. A request that has no value never matches. */
  readonly excludes: boolean;
}

/** A limit on all requests of an organisation, or a workspace, that are alike (spec 2.16, behaviour 10.2). */
export interface RateLimitPolicy {
  readonly id: string;
  readonly name: string | null;
  readonly organisation_id: string;
  /** Null = every workspace of the organisation. */
  readonly workspace_id: string | null;
  /** All of them hold. */
  readonly conditions: readonly PolicyCondition[];
  /** Requests that differ in one of these are counted apart; one without such a value is not counted. Empty = all together. */
  readonly group_by: readonly { readonly key: string }[];
  readonly type: RateLimit["type"];
  /** Null for concurrency, and only there. */
  readonly unit: "rpm" | "rph" | "rpd" | "rpw" | null;
  /** A whole number; 0 = blocked. */
  readonly value: number;
  /** Archived policies count nothing. */
  readonly status: "active" | "archived";
  /** When nothing can be counted: "open" lets requests through uncounted, "closed" answers 503. */
  readonly on_store_loss: "open" | "closed";
}

/** `Resolved.json` of kind policy_set; its id is the organisation's. */
export interface PolicySetResource {
  readonly rate_limits: readonly RateLimitPolicy[];
  readonly usage_limits: readonly [];
}

/** `Resolved.json` of kind api_key (by hash or by id; id "admin" is the admin key). */
export interface ApiKeyResource {
  readonly id: string;
  readonly name: string;
  readonly type: "organisation-service" | "workspace-service" | "workspace-user";
  readonly organisation_id: string;
  /** Null for an organisation key: it then works in the organisation's default workspace. */
  readonly workspace_id: string | null;
  /** "*" = all. */
  readonly scopes: readonly string[];
  /** The user that a workspace-user key belongs to; absent = nobody. */
  readonly user_id?: string;
  /** Unix ms, null = never. */
  readonly expires_at: number | null;
  readonly defaults: {
    readonly config_id: string | null;
    readonly metadata: Readonly<Record<string, string>>;
    readonly allow_config_override: boolean;
  };
  readonly rate_limits: readonly RateLimit[];
  /** Null = all. */
  readonly allowed_models: readonly string[] | null;
  /** Provider slugs; null = all. */
  readonly allowed_providers: readonly string[] | null;
  /** SHA-256 of the key text, hex. */
  readonly key_sha256: string;
}

/** `Resolved.json` of kind workspace. */
export interface WorkspaceResource {
  readonly id: string;
  readonly name: string;
  readonly organisation_id: string;
  /** For requests of keys that have none of their own; metadata for all. */
  readonly defaults: { readonly config_id: string | null; readonly metadata: Readonly<Record<string, string>> };
}

/** `Resolved.json` of kind provider; its credentials are `Resolved.sealed`, bound to "provider/<slug>". */
export interface ProviderResource {
  readonly slug: string;
  /** Identifier of the catalogue. */
  readonly provider: string;
  readonly organisation_id: string;
  /** Null = every workspace of the organisation. */
  readonly workspace_id: string | null;
  readonly settings: JsonObject;
  readonly custom_host: string | null;
  /** Whether a caller may point this provider's credential at a host of its own. Default false. */
  readonly allow_custom_host: boolean;
  readonly rate_limits: readonly RateLimit[];
  /** What its integration says; absent = all models. */
  readonly model_access?: ModelAccess;
}

/** `Resolved.json` of kind providers (all that a tenant may use, without secrets). */
export interface ProviderListResource {
  readonly providers: readonly ProviderResource[];
}

/**
 * `Resolved.json` of kind config. Credentials in it are cut out: a node that had some carries
 * `sealed_credentials`, base64 of a Sealed message bound to "<config id>/<option path>".
 */
export interface ConfigResource {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly config: JsonObject;
}

/** `Resolved.json` of kind guardrail. */
export interface GuardrailResource {
  readonly id: string;
  readonly name: string;
  readonly organisation_id: string;
  readonly workspace_id: string | null;
  readonly checks: readonly { readonly id: string; readonly parameters: JsonObject; readonly is_enabled: boolean }[];
  readonly actions: JsonObject;
}
