import { createHash } from "node:crypto";
import type { Tenant } from "@unigate/contracts";
import {
  bufferOfJson,
  type Call,
  type CompiledConfig,
  type ConfigProblem,
  type ConfigResource,
  compileConfig,
  cutCredentials,
  deeperThan,
  GatewayError,
  isObject,
  MAX_CONFIG_DEPTH,
  renameAliases,
} from "@unigate/core";
import type { Resolver } from "@unigate/resolve";
import type { EdgeDeps } from "../../deps.ts";
import type { GatewayRequest } from "../../gateway-request.ts";
import type { RequestConfig } from "../run-state.ts";

const HEADER = "x-gateway-config";
const SAVED_PREFIX = "pc-";
const NO_CREDENTIALS: RequestConfig["credentials"] = new Map();
const MAX_COMPILED = 500;

/** Without a config the request's own headers say everything: one leaf. */
const EMPTY = emptyConfig();
/** Compiled saved configs, as long as the resolver keeps the resource. */
const savedConfigs = new WeakMap<ConfigResource, RequestConfig>();
/** Compiled inline configs by hash of their credential-free text, oldest first. */
const inlineConfigs = new Map<string, Omit<RequestConfig, "credentials">>();

/**
 * The config of a request: its header (saved id or JSON), else the key's default, else the workspace's, else none (behaviour 1.1).
 * Throws invalid_config naming the field, unknown_config or config_override_forbidden.
 */
export async function resolveConfig(deps: EdgeDeps, request: GatewayRequest, workspaceDefault: string | null): Promise<RequestConfig> {
  const header = request.headers[HEADER];
  const { defaults } = request.principal.key;
  if (header === undefined || header === "") {
    const id = defaults.config_id ?? workspaceDefault;
    return id === null ? EMPTY : savedConfig(deps, request, id, request.call);
  }
  if (!defaults.allow_config_override) throw new GatewayError("config_override_forbidden", undefined, { param: HEADER });
  if (header.startsWith(SAVED_PREFIX)) return savedConfig(deps, request, header, request.call);
  return inlineConfig(deps, request, header);
}

async function savedConfig(deps: EdgeDeps, request: GatewayRequest, id: string, call: Call): Promise<RequestConfig> {
  const found = await findSavedConfig(deps.resolver, request.principal.tenant, id, call);
  if (found === null)
    throw new GatewayError("unknown_config", `There is no saved config "${id.slice(0, 80)}" in this workspace.`, { param: HEADER });
  return found;
}

/** A saved config of the tenant; null = there is none. Throws invalid_config. */
export async function findSavedConfig(resolver: Resolver, tenant: Tenant, id: string, call: Call): Promise<RequestConfig | null> {
  const ref = { kind: "config", id, tenant } as const;
  const found = resolver.peek<ConfigResource>(ref) ?? (await resolver.resolve<ConfigResource>(ref, call));
  if (found === null) return null;
  const known = savedConfigs.get(found.value);
  if (known !== undefined) return known;
  const config = compiled(found.value.config, "saved", id);
  const made: RequestConfig = { ...config, version: found.version, credentials: NO_CREDENTIALS };
  savedConfigs.set(found.value, made);
  return made;
}

/** An inline config that this process has lately run for the organisation, by its id; null = it has not. */
export function findInlineConfig(organisationId: string, id: string): Omit<RequestConfig, "credentials"> | null {
  return inlineConfigs.get(`${organisationId}/${id.slice("sha256:".length)}`) ?? null;
}

function inlineConfig(deps: EdgeDeps, request: GatewayRequest, text: string): RequestConfig {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new GatewayError("invalid_config", 'x-gateway-config is neither a saved id ("pc-...") nor valid JSON.', { param: HEADER });
  }
  if (deeperThan(parsed, MAX_CONFIG_DEPTH))
    throw invalidConfig([{ path: "", message: `nested deeper than ${MAX_CONFIG_DEPTH} levels` }], "The config");
  const cut = cutCredentials(withoutSealed(renameAliases(parsed)));
  const digest = createHash("sha256").update(JSON.stringify(cut.config)).digest("hex");
  const key = `${request.principal.tenant.organisationId}/${digest}`;
  let config = inlineConfigs.get(key);
  if (config === undefined) {
    config = compiled(cut.config, "inline", `sha256:${digest}`);
    inlineConfigs.set(key, config);
    for (const oldest of inlineConfigs.keys()) {
      if (inlineConfigs.size <= MAX_COMPILED) break;
      inlineConfigs.delete(oldest);
    }
    const { warnings } = config.compiled;
    if (warnings.length > 0)
      deps.log.warn({ fields: warnings, traceId: request.trace.traceId }, "unknown fields of an inline config are ignored");
  }
  return { ...config, credentials: cut.credentials };
}

/** `sealed_credentials` is control's own field: from a caller it means nothing. */
function withoutSealed(config: unknown): unknown {
  if (!isObject(config)) return config;
  const { sealed_credentials: _, ...rest } = config;
  const { targets } = rest;
  return Array.isArray(targets) ? { ...rest, targets: targets.map(withoutSealed) } : rest;
}

function compiled(json: unknown, origin: "saved" | "inline", id: string): Omit<RequestConfig, "credentials"> {
  const result = compileConfig(json, origin);
  if (!result.ok) throw invalidConfig(result.problems, origin === "saved" ? `The saved config "${id}"` : "The config");
  const text = bufferOfJson(json);
  return { id, version: "", origin, compiled: result.config, json: text, hash: createHash("sha256").update(text).digest() };
}

function invalidConfig(problems: readonly ConfigProblem[], which: string): GatewayError {
  const [first] = problems;
  const listed = problems.slice(0, 5).map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  const more = problems.length > 5 ? `; and ${problems.length - 5} more` : "";
  return new GatewayError("invalid_config", `${which} is invalid. ${listed.join("; ")}${more}`, {
    param: first === undefined || first.path === "" ? HEADER : first.path,
  });
}

function emptyConfig(): RequestConfig {
  const result = compileConfig({ forward_headers: [] }, "inline");
  if (!result.ok) throw new Error("the empty config must compile");
  const json = Buffer.from("{}");
  const config: CompiledConfig = result.config;
  return {
    id: "",
    version: "",
    origin: "none",
    compiled: config,
    json,
    hash: createHash("sha256").update(json).digest(),
    credentials: NO_CREDENTIALS,
  };
}
