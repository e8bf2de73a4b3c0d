import { type Call, GatewayError } from "@unigate/core";
import { isRpcError } from "@unigate/rpc";
import type { EdgeDeps } from "../deps.ts";
import { listBreakers } from "../endpoints/circuit-breakers.ts";
import { getLog, queryLogs } from "../endpoints/logs.ts";
import { getModel, listModels } from "../endpoints/models.ts";
import { traceHeaders } from "../pipeline/answer-headers.ts";
import { type BodyBudget, readBody } from "../read-body.ts";
import type { Matched } from "../routes.ts";
import type { Incoming } from "./inference.ts";
import { writeUnary } from "./write-reply.ts";

const DEADLINE_MS = 15_000;
const MAX_ADMIN_BODY = 2 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

/** Everything under /v1 that is no inference: answered here, or bridged to control and logging. */
export async function serveBridge(deps: EdgeDeps, budget: BodyBudget, incoming: Incoming, route: Matched): Promise<void> {
  const call: Call = { ...incoming.call, deadline: deps.clock.now() + DEADLINE_MS };
  try {
    await bridge(deps, budget, incoming, route, call);
  } catch (error) {
    if (!isRpcError(error) || incoming.call.cancel.cancelled) throw error;
    const service = serviceOf(route.kind);
    deps.log.warn({ traceId: incoming.trace.traceId, service, error: String(error) }, "a service is unavailable");
    throw new GatewayError("service_unavailable", `The service "${service}" does not answer right now; try again shortly.`, {
      cause: error,
    });
  }
}

function serviceOf(kind: Matched["kind"]): string {
  if (kind === "breakers") return "router";
  return kind === "logs" || kind === "log" ? "logging" : "control";
}

async function bridge(deps: EdgeDeps, budget: BodyBudget, incoming: Incoming, route: Matched, call: Call): Promise<void> {
  const { principal } = incoming.identity;
  switch (route.kind) {
    case "models":
      return writeJson(incoming, 200, Buffer.from(JSON.stringify(await listModels(deps, principal, call))));
    case "model":
      return writeJson(incoming, 200, Buffer.from(JSON.stringify(await getModel(deps, principal, decoded(route.rest), call))));
    case "logs":
      return writeJson(incoming, 200, await queryLogs(deps, principal, incoming.query, call));
    case "log":
      return writeJson(incoming, 200, await getLog(deps, principal, decoded(route.rest), call));
    case "breakers":
      return writeJson(incoming, 200, await listBreakers(deps, principal, incoming.query, call));
    default:
      return serveManagement(deps, budget, incoming, call);
  }
}

async function serveManagement(deps: EdgeDeps, budget: BodyBudget, incoming: Incoming, call: Call): Promise<void> {
  const { principal } = incoming.identity;
  const body = await readBody(incoming.request, MAX_ADMIN_BODY, budget);
  try {
    const reply = await deps.control.handle(
      {
        principalId: principal.key.id,
        scopes: [...principal.key.scopes],
        tenant: principal.tenant,
        method: incoming.request.method ?? "GET",
        pathAndQuery: incoming.path + incoming.query,
        body: body.length === 0 ? EMPTY : body,
      },
      call,
    );
    const headers = traceHeaders(incoming.trace.traceId, incoming.requestId);
    for (const { name, value } of reply.headers) headers.push(name, value);
    writeUnary(incoming.response, reply.status, headers, reply.body);
  } finally {
    budget.give(body.length);
  }
}

function writeJson(incoming: Incoming, status: number, body: Buffer): void {
  writeUnary(
    incoming.response,
    status,
    [...traceHeaders(incoming.trace.traceId, incoming.requestId), "content-type", "application/json"],
    body,
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new GatewayError("invalid_request", "The path is not valid percent-encoding.");
  }
}
