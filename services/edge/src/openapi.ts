import type { JsonObject, RouteDescription } from "@unigate/core";
import { routes } from "./routes.ts";

const ERROR = { description: "Error", content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } };

/** The OpenAPI description, made from the edge's route table and the routes of the management API. */
export function openApi(version: string, management: readonly RouteDescription[]): object {
  const paths: Record<string, JsonObject> = {};
  for (const route of [...ownRoutes(), ...management]) {
    const path = `/v1${route.path}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  paths["/v1/schemas/config.json"] = { get: CONFIG_SCHEMA };
  return {
    openapi: "3.1.0",
    info: { title: "Unigate", version, description: "Any other GET, POST, PUT or DELETE under /v1 is proxied to the chosen provider." },
    paths,
    security: [{ gatewayKey: [] }, { bearer: [] }],
    components: {
      securitySchemes: {
        gatewayKey: { type: "apiKey", in: "header", name: "x-gateway-api-key" },
        bearer: { type: "http", scheme: "bearer" },
      },
      schemas: { Error: ERROR_BODY },
    },
  };
}

function ownRoutes(): RouteDescription[] {
  return routes.map(({ method, path, summary, scopes, query = [] }) => {
    const body = method === "POST" ? { type: "object", minProperties: 1 } : null;
    return { method, path, summary, scopes, adminOnly: false, query, body, answer: null };
  });
}

function operationOf({ method, path, summary, scopes, adminOnly, query, body, answer }: RouteDescription): JsonObject {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: "path", required: true, schema: { type: "string" } }));
  const inQuery = query.map(({ name, required, schema }) => ({ name, in: "query", required, schema }));
  return {
    summary,
    description: adminOnly
      ? "Only the admin key may do this."
      : `The API key needs ${scopes.length > 1 ? "one of " : ""}${scopes.join(", ")}.`,
    operationId: operationId(method, path),
    parameters: [...inPath, ...inQuery],
    ...(body === null ? {} : { requestBody: { required: needsBody(body), content: { "application/json": { schema: body } } } }),
    responses: {
      200: { description: "OK", ...(answer === null ? {} : { content: { "application/json": { schema: answer } } }) },
      default: ERROR,
    },
    "x-required-scopes": scopes,
  };
}

/** No body says as much as an empty one. */
function needsBody({ required, minProperties }: JsonObject): boolean {
  return minProperties !== undefined || (Array.isArray(required) && required.length > 0);
}

/** "getConfigsSlugVersions" of GET /configs/{slug}/versions. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

/** Needs no key. */
const CONFIG_SCHEMA = {
  summary: "The config object as JSON Schema, for editors",
  description: "Anyone may read it.",
  operationId: "getSchemasConfigJson",
  parameters: [],
  security: [],
  responses: { 200: { description: "OK", content: { "application/schema+json": { schema: { type: "object" } } } }, default: ERROR },
};

const ERROR_BODY = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["message", "type", "param", "code"],
      properties: {
        message: { type: "string" },
        type: { type: "string" },
        param: { type: ["string", "null"] },
        code: { type: ["string", "null"] },
      },
    },
    provider: { type: "string" },
    hook_results: { type: "object" },
  },
};
