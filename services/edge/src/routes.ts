import type { RouteDescription } from "@unigate/core";

/** What serves a path. */
export type RouteKind = "chat" | "explain" | "models" | "model" | "logs" | "log" | "breakers" | "proxy" | "management";

/** One public endpoint. /openapi.json is printed from this table, and from what control says of the management API. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly kind: RouteKind;
  /** Any one is enough. */
  readonly scopes: readonly string[];
  readonly summary: string;
  readonly query?: RouteDescription["query"];
}

/** What a request to a provider needs. */
export const INFERENCE = ["completions.write"] as const;
/** What reading logs needs, any one of them. */
export const LOGS = ["logs.view", "logs.list", "logs.read"] as const;

export const routes: readonly Route[] = [
  { method: "POST", path: "/chat/completions", kind: "chat", scopes: INFERENCE, summary: "Chat completion, unary or streamed" },
  { method: "POST", path: "/explain", kind: "explain", scopes: LOGS, summary: "What would become of a chat request; nothing is sent" },
  { method: "GET", path: "/models", kind: "models", scopes: ["models.list", ...INFERENCE], summary: "Models that the key may use" },
  { method: "GET", path: "/models/{model}", kind: "model", scopes: ["models.list", ...INFERENCE], summary: "One model" },
  { method: "GET", path: "/logs", kind: "logs", scopes: LOGS, summary: "Request logs, newest first" },
  { method: "GET", path: "/logs/{id}", kind: "log", scopes: LOGS, summary: "One request log with its bodies" },
  {
    method: "GET",
    path: "/circuit-breakers",
    kind: "breakers",
    scopes: ["configs.read"],
    summary: "Circuit breakers of a config",
    query: [{ name: "config", required: true, schema: { type: "string" } }],
  },
];

/** First segments of the management API: ours from the first day, never proxied (DESIGN 8.7). */
const RESERVED = new Set([
  "admin",
  "agent-servers",
  "analytics",
  "api-keys",
  "audit-logs",
  "circuit-breakers",
  "collections",
  "configs",
  "explain",
  "feedback",
  "guardrails",
  "integrations",
  "labels",
  "logs",
  "mcp-integrations",
  "mcp-servers",
  "model-configs",
  "policies",
  "prompts",
  "providers",
  "schemas",
  "scim",
  "secret-references",
  "virtual-keys",
  "workspace-exclusions",
  "workspaces",
]);

export interface Matched {
  readonly kind: RouteKind;
  readonly scopes: readonly string[];
  /** The rest of the path behind a parameter, decoded by the endpoint. */
  readonly rest: string;
  /** Methods that the path has, when the asked one is not among them. */
  readonly allow: string | null;
}

const exact = new Map(routes.filter((route) => !route.path.includes("{")).map((route) => [`${route.method} ${route.path}`, route]));
/** What is no endpoint of ours. */
export const PROXY_ROUTE: Matched = { kind: "proxy", scopes: INFERENCE, rest: "", allow: null };

/** What serves `path` (below /v1). A method and path of the table are ours; any other is proxied. */
export function matchRoute(method: string, path: string): Matched {
  const known = exact.get(`${method} ${path}`);
  if (known !== undefined) return { kind: known.kind, scopes: known.scopes, rest: "", allow: null };
  const slash = path.indexOf("/", 1);
  const first = slash < 0 ? path.slice(1) : path.slice(1, slash);
  const rest = slash < 0 ? "" : path.slice(slash + 1);
  if (first === "models" && rest !== "" && method === "GET")
    return { kind: "model", scopes: ["models.list", ...INFERENCE], rest, allow: null };
  if (first === "logs" && rest !== "" && !rest.includes("/") && method === "GET") return { kind: "log", scopes: LOGS, rest, allow: null };
  if (RESERVED.has(first)) return { kind: "management", scopes: [], rest: "", allow: null };
  return PROXY_ROUTE;
}
