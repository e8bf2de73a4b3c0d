import type { AdminReply, AdminRequest } from "@unigate/contracts";
import { errorBody, GatewayError, type JsonObject, toGatewayError } from "@unigate/core";
import { SavedConflict } from "../saved/types.ts";
import type { ApiDeps, Asked } from "./asked.ts";
import { callerOf, requireScope } from "./caller.ts";
import { type ApiRoute, matchRoute } from "./match-route.ts";
import { organisationOf } from "./place.ts";
import { readBody, readPath } from "./read-request.ts";
import { createRequestBound, type RequestBound } from "./request-bound.ts";
import { apiRoutes } from "./routes.ts";

/** What the management API works with, and its bound. */
export interface ManagementDeps extends ApiDeps {
  /** Most requests of one key in a minute; 0 = no bound. */
  readonly requestsPerMinute: number;
}

/** Answers the management API: every refusal is an answer too. `failed` is told of faults of our own, never of a request's, which may quote it. */
export function createManagementApi(
  deps: ManagementDeps,
  failed: (cause: unknown) => void,
): (request: AdminRequest) => Promise<AdminReply> {
  const bound = createRequestBound(deps.requestsPerMinute, deps.clock);
  return async (request) => {
    try {
      return reply(200, await answer(deps, bound, request));
    } catch (reason) {
      const error = reason instanceof SavedConflict ? conflictOf(reason) : toGatewayError(reason);
      if (error.status >= 500) failed(error.cause ?? error);
      return refusal(error);
    }
  };
}

async function answer(api: ApiDeps, bound: RequestBound, request: AdminRequest): Promise<JsonObject> {
  const caller = callerOf(api, request);
  bound(caller.keyId);
  const { segments, query } = readPath(request.pathAndQuery);
  const matched = matchRoute(apiRoutes, request.method, segments);
  if (matched.kind === "unknown") throw new GatewayError("not_available");
  if (matched.kind === "wrong_method") throw new WrongMethod(request.method, matched.allow);
  const { route, parameters } = matched;
  requireScope(caller, route.scopes);
  if (route.adminOnly === true && !caller.isAdmin)
    throw new GatewayError("scope_missing", "Only the admin key may do this; the API key lacks its scope.");
  const body = route.method === "POST" || route.method === "PUT" ? readBody(request.body) : null;
  const named = query["organisation_id"] ?? body?.["organisation_id"];
  const organisationId = organisationOf(api, caller, typeof named === "string" ? named : undefined);
  if (route.method !== "PUT") return twice(route, { api, caller, organisationId, parameters, body, query });
  // What is changed stays where it is: these two only say where it is.
  const { organisation_id: _, workspace_id, ...changed } = body ?? {};
  return twice(route, { api, caller, organisationId, parameters, body: changed, query, namedWorkspace: workspace_id });
}

/** Somebody else was faster: the change is made once more from what is there now. */
async function twice({ endpoint }: ApiRoute, asked: Asked): Promise<JsonObject> {
  try {
    return await endpoint.answer(asked);
  } catch (reason) {
    if (!(reason instanceof SavedConflict) || reason.what !== "changed") throw reason;
    return endpoint.answer(asked);
  }
}

/** The path is there, but not with this method. */
class WrongMethod extends GatewayError {
  readonly allow: string;

  constructor(method: string, allow: readonly string[]) {
    super("method_not_allowed", `${method} is not allowed here; expected ${allow.join(" or ")}.`);
    this.allow = allow.join(", ");
  }
}

function conflictOf({ what }: SavedConflict): GatewayError {
  switch (what) {
    case "slug_taken":
      return new GatewayError("conflict", "This name is taken.", { param: "slug" });
    case "changed":
      return new GatewayError("conflict", "It was changed by somebody else at the same moment; read it again and repeat the change.");
    case "gone":
      return new GatewayError("not_found", "It is not there any more.");
  }
}

function refusal(error: GatewayError): AdminReply {
  const headers = [
    ...(error.retryAfterMs === null ? [] : [{ name: "retry-after", value: String(Math.max(1, Math.ceil(error.retryAfterMs / 1_000))) }]),
    ...(error instanceof WrongMethod ? [{ name: "allow", value: error.allow }] : []),
  ];
  const { status, headers: always, body } = reply(error.status, errorBody(error));
  return { status, headers: [...always, ...headers], body };
}

function reply(status: number, json: object): AdminReply {
  return { status, headers: [{ name: "content-type", value: "application/json" }], body: Buffer.from(JSON.stringify(json)) };
}
