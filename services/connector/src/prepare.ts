import type { InvokeRequest } from "@unigate/contracts";
import { bufferOfJson, type Credentials, dropParams, GatewayError, isObject, type JsonObject, jsonOf, Secret } from "@unigate/core";
import { type BuildInput, findProvider, type Provider, type Surface, type SurfaceName, type UpstreamRequest } from "@unigate/providers";
import type { Destination } from "./base-url.ts";
import type { ConnectorDeps } from "./deps.ts";
import { maskOf, type SecretMask } from "./mask-secrets.ts";

/** An exchange that is ready to be sent. */
export interface Prepared {
  readonly provider: Provider;
  /** Null for the proxy. */
  readonly surface: Surface | null;
  readonly input: BuildInput;
  readonly request: UpstreamRequest;
  readonly destination: Destination;
  /** For what the upstream says of a request that it refuses. */
  mask(): SecretMask;
}

const NO_JSON: JsonObject = {};
const NO_CREDENTIALS: Credentials = {};

/** What `prepare` makes before it signs. */
export interface Built extends Pick<Prepared, "provider" | "surface" | "input" | "request"> {
  readonly customHost: string;
  readonly credentials: Credentials;
}

/**
 * Transform, drop, sign. Throws GatewayError: endpoint_not_supported, invalid_custom_host, credential problems.
 * `upload` = a body follows as a stream.
 */
export async function prepare(deps: ConnectorDeps, invoke: InvokeRequest, upload: boolean): Promise<Prepared> {
  return sign(deps, build(deps, invoke, upload));
}

/** Transform and drop: the request of the upstream, without its credential. */
export function build(deps: ConnectorDeps, invoke: InvokeRequest, upload: boolean): Built {
  const { target } = invoke;
  if (target === undefined) throw new Error("an exchange needs a target");
  const provider = findProvider(target.provider);
  if (provider === undefined) throw new GatewayError("unknown_provider", `There is no provider "${target.provider}".`);
  const settings = target.settingsJson.length === 0 ? {} : (jsonOf(target.settingsJson) as JsonObject);
  const proxied = invoke.surface === "proxy";
  const input: BuildInput = {
    body: invoke.body,
    json: proxied ? NO_JSON : bodyObject(invoke.body),
    model: "",
    stream: false,
    clientUsage: invoke.want?.clientUsage ?? false,
    strict: target.strict,
    settings,
    headers: Object.fromEntries(invoke.headers.map(({ name, value }) => [name, value])),
    created: Math.floor(deps.clock.now() / 1_000),
  };
  const surface = proxied ? null : surfaceOf(provider, invoke.surface);
  const named = surface === null ? input : { ...input, model: modelOf(input.json), stream: input.json["stream"] === true };
  const request = surface === null ? proxyRequest(invoke, upload) : surface.build(named);
  if (invoke.drop.length > 0 && surface !== null && request.body !== null && request.body !== invoke.body) {
    request.body = bufferOfJson(dropParams(jsonOf(request.body), invoke.drop));
  }
  for (const { name, value } of target.forward) request.headers[name] = value;
  if (surface !== null) request.headers["accept-encoding"] = "identity";
  return { provider, surface, input: named, request, customHost: target.customHost, credentials: credentialsOf(deps, invoke) };
}

/** Adds the credential, which may also change the path, and finds where the request goes. */
export async function sign(deps: ConnectorDeps, built: Built): Promise<Prepared> {
  const { provider, surface, input, request, customHost, credentials } = built;
  await provider.auth.apply(request, credentials, input.settings);
  const destination = deps.baseUrls.destination(provider, customHost, request.path);
  return { provider, surface, input, request, destination, mask: () => maskOf(credentials) };
}

function surfaceOf(provider: Provider, name: string): Surface {
  const surface = provider.surfaces[name as SurfaceName];
  if (surface === undefined) throw new GatewayError("endpoint_not_supported", `Provider "${provider.id}" does not support ${name}.`);
  return surface;
}

function bodyObject(body: Buffer): JsonObject {
  const json = jsonOf(body);
  if (!isObject(json)) throw new GatewayError("invalid_json", "The request body must be a JSON object.");
  return json;
}

function modelOf(json: JsonObject): string {
  return typeof json["model"] === "string" ? json["model"] : "";
}

function proxyRequest(invoke: InvokeRequest, upload: boolean): UpstreamRequest {
  const headers: Record<string, string> = {};
  for (const { name, value } of invoke.headers) headers[name] = value;
  return {
    method: invoke.method as UpstreamRequest["method"],
    path: invoke.pathAndQuery,
    headers,
    body: upload || invoke.body.length === 0 ? null : invoke.body,
  };
}

/** Credentials of the request over sealed ones. Sealed values are opened nowhere else but here and in guardrail. */
function credentialsOf(deps: ConnectorDeps, invoke: InvokeRequest): Credentials {
  const { target, tenant } = invoke;
  const sealed =
    target?.sealed === undefined ? NO_CREDENTIALS : deps.sealer.open(target.sealed, tenant?.organisationId ?? "", target.sealedFor);
  if (target === undefined || target.inlineCredentials.length === 0) return sealed;
  const credentials: Record<string, Secret> = { ...sealed };
  for (const { name, value } of target.inlineCredentials) credentials[name] = new Secret(value);
  return credentials;
}
