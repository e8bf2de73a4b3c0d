import type { Failure } from "@unigate/contracts";
import { type Call, ERRORS, type ErrorCode, GatewayError } from "@unigate/core";
import type { EdgeDeps } from "../deps.ts";
import type { Principal } from "../principal.ts";
import { refuse } from "./ranges.ts";

const FILTERS = ["trace_id", "provider", "model", "status", "api_key_id"] as const;
const PARAMETERS: readonly string[] = [...FILTERS, "from", "to", "cursor", "limit"];

/** GET /v1/logs, bridged to logging. Returns the JSON text as it came. */
export async function queryLogs(deps: EdgeDeps, principal: Principal, query: string, call: Call): Promise<Buffer> {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name)) refuse(name.slice(0, 80), `one of ${PARAMETERS.join(", ")} as the name of a query parameter`);
  const filter: Record<string, string | number> = {};
  for (const name of FILTERS) {
    const value = parameters.get(name);
    if (value === null) continue;
    filter[name] = name === "status" ? wholeNumber(name, value, 100, 999) : value;
  }
  const reply = await deps.logging.queryLogs(
    {
      tenant: visible(principal),
      from: time("from", parameters.get("from")),
      to: time("to", parameters.get("to")),
      filterJson: Buffer.from(JSON.stringify(filter)),
      cursor: parameters.get("cursor") ?? "",
      limit: wholeNumber("limit", parameters.get("limit") ?? "20", 1, 100),
    },
    call,
  );
  if (reply.failure !== undefined) throw refusalOf(reply.failure);
  return reply.json;
}

/** GET /v1/logs/{id}. */
export async function getLog(deps: EdgeDeps, principal: Principal, id: string, call: Call): Promise<Buffer> {
  const reply = await deps.logging.getLog({ tenant: visible(principal), id }, call);
  if (reply.failure?.code === "not_found") throw new GatewayError("not_found", `There is no log "${id.slice(0, 80)}".`);
  if (reply.failure !== undefined) throw refusalOf(reply.failure);
  return reply.json;
}

/** A failure of logging in its own words: a store that is away is not the caller's fault. */
function refusalOf({ code, message, param }: Failure): GatewayError {
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : "internal";
  return new GatewayError(known, message, param === "" ? {} : { param });
}

/** A workspace key sees its workspace only; an organisation key all of them. */
function visible(principal: Principal): { organisationId: string; workspaceId: string } {
  return { organisationId: principal.tenant.organisationId, workspaceId: principal.key.workspace_id ?? "" };
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) refuse(name, `a whole number from ${min} to ${max}`);
  return value;
}

/** Unix ms or ISO 8601; 0 = open. */
function time(name: string, text: string | null): number {
  if (text === null || text === "") return 0;
  const value = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (!Number.isFinite(value)) refuse(name, "Unix milliseconds or an ISO 8601 time");
  return value;
}
