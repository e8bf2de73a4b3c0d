import type { IncomingMessage, ServerResponse } from "node:http";
import { type Call, GatewayError, type JsonObject, parseJsonBody, type TraceContext } from "@unigate/core";
import type { Identity } from "../authenticate.ts";
import type { ClientHeaders } from "../client-headers.ts";
import type { EdgeDeps } from "../deps.ts";
import { checkChat } from "../endpoints/chat.ts";
import type { GatewayRequest } from "../gateway-request.ts";
import { readMetadata } from "../metadata.ts";
import { requireScope } from "../principal.ts";
import { type BodyBudget, readBody, streamBody } from "../read-body.ts";
import { LOGS } from "../routes.ts";
import { respond } from "./respond.ts";

/** A request that came in, identified and matched to a path. */
export interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: ClientHeaders;
  readonly identity: Identity;
  readonly trace: TraceContext;
  readonly requestId: string;
  readonly call: Call;
  /** Below /v1. */
  readonly path: string;
  readonly query: string;
  readonly receivedAt: number;
}

/** POST /v1/chat/completions. */
export function serveChat(deps: EdgeDeps, budget: BodyBudget, incoming: Incoming): Promise<void> {
  return readChat(deps, budget, incoming, (request) => respond(deps, request, incoming.response, request.json?.["stream"] === true));
}

/** Reads and checks a chat request; its body is in the budget until `use` has ended. */
export async function readChat(
  deps: EdgeDeps,
  budget: BodyBudget,
  incoming: Incoming,
  use: (request: GatewayRequest) => Promise<void>,
): Promise<void> {
  requireJson(incoming.headers);
  const body = await readBody(incoming.request, deps.limits.bodyLimit, budget);
  try {
    const json = parseJsonBody(body);
    checkChat(json);
    await use(gatewayRequest(incoming, "chat", "POST", body, json, null));
  } finally {
    budget.give(body.length);
  }
}

const PROXY_METHODS = new Set(["GET", "POST", "PUT", "DELETE"]);

/**
 * Any provider endpoint (spec 4.13). A JSON body of announced length within the limit is buffered, so that retry and
 * fallback work; everything else is one streamed attempt (DESIGN 8.10).
 */
export async function serveProxy(deps: EdgeDeps, budget: BodyBudget, incoming: Incoming): Promise<void> {
  const method = incoming.request.method ?? "";
  if (!PROXY_METHODS.has(method)) throw new GatewayError("method_not_allowed", `${method} is not proxied; use GET, POST, PUT or DELETE.`);
  const proxied = method as GatewayRequest["method"];
  const length = incoming.headers["content-length"];
  const chunked = incoming.headers["transfer-encoding"] !== undefined;
  if (!chunked && (length === undefined || length === "0"))
    return respond(deps, gatewayRequest(incoming, "proxy", proxied, null, null, null), incoming.response, false);

  const isJson = (incoming.headers["content-type"] ?? "").includes("json") && incoming.headers["content-encoding"] === undefined;
  if (!isJson || length === undefined || Number(length) > deps.limits.bodyLimit) {
    if (Number(length ?? 0) > deps.limits.uploadLimit)
      throw new GatewayError("body_too_large", `The upload is larger than ${deps.limits.uploadLimit} bytes.`);
    const upload = streamBody(incoming.request, deps.limits.uploadLimit);
    return respond(deps, gatewayRequest(incoming, "proxy", proxied, null, null, upload), incoming.response, false);
  }
  const body = await readBody(incoming.request, deps.limits.bodyLimit, budget);
  try {
    await respond(deps, gatewayRequest(incoming, "proxy", proxied, body, proxyJson(body), null), incoming.response, false);
  } finally {
    budget.give(body.length);
  }
}

/** A proxied body that is no JSON object goes on as it is: the provider judges it. */
function proxyJson(body: Buffer): JsonObject | null {
  try {
    return parseJsonBody(body);
  } catch {
    return null;
  }
}

/** JSON is what the unified endpoints take; an absent content type is taken for it. */
function requireJson(headers: ClientHeaders): void {
  const encoding = headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new GatewayError(
      "invalid_content_type",
      `Content encoding "${encoding.slice(0, 60)}" is not supported here; send the JSON as it is.`,
      {
        param: "content-encoding",
      },
    );
  }
  const type = headers["content-type"];
  if (type === undefined || type === "" || type.toLowerCase().includes("json")) return;
  throw new GatewayError("invalid_content_type", `Content type "${type.slice(0, 60)}" is not supported here; send application/json.`, {
    param: "content-type",
  });
}

function gatewayRequest(
  incoming: Incoming,
  surface: GatewayRequest["surface"],
  method: GatewayRequest["method"],
  body: Buffer | null,
  json: JsonObject | null,
  upload: AsyncIterable<Buffer> | null,
): GatewayRequest {
  const { headers, identity, trace, call } = incoming;
  return {
    requestId: incoming.requestId,
    surface,
    method,
    path: incoming.path,
    query: incoming.query,
    headers,
    trace,
    call,
    principal: identity.principal,
    credential: identity.credential,
    body,
    json,
    upload,
    metadata: readMetadata(headers),
    requestTimeoutMs: readTimeout(headers["x-gateway-request-timeout"]),
    tellDecision: mayTellDecision(incoming),
    receivedAt: incoming.receivedAt,
  };
}

/** A decision tells of other targets and their states: as a log does, so it needs the same right. */
function mayTellDecision({ headers, identity }: Incoming): boolean {
  if (headers["x-gateway-debug-decision"] !== "true") return false;
  requireScope(identity.principal, LOGS);
  return true;
}

function readTimeout(text: string | undefined): number | null {
  if (text === undefined || text === "") return null;
  const ms = Number(text);
  if (Number.isInteger(ms) && ms > 0) return ms;
  throw new GatewayError("invalid_header", "x-gateway-request-timeout must be a whole number of milliseconds above 0.", {
    param: "x-gateway-request-timeout",
  });
}
