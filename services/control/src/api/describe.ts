import { isObject, type JsonObject, type RouteDescription } from "@unigate/core";
import { z } from "zod";
import { place } from "./fields.ts";
import type { ApiRoute, Method } from "./match-route.ts";

/** The management API as its clients need to know it, from the table of its routes and their contracts. */
export function describeRoutes(routes: readonly ApiRoute[]): RouteDescription[] {
  return routes.map(({ method, path, scopes, adminOnly = false, endpoint: { contract } }) => ({
    method,
    path,
    summary: contract.summary,
    scopes,
    adminOnly,
    query: queryOf(jsonSchemaOf(contract.query)),
    body: contract.body === null ? null : bodyOf(method, contract.body),
    answer: jsonSchemaOf(contract.answer),
  }));
}

/** A change may also say where the thing is: see the management API. */
function bodyOf(method: Method, body: z.ZodType): JsonObject {
  const schema = jsonSchemaOf(body);
  const { properties } = schema;
  if (method !== "PUT" || !isObject(properties)) return schema;
  return { ...schema, properties: { ...properties, ...(jsonSchemaOf(z.object(place))["properties"] as JsonObject) } };
}

function queryOf({ properties, required }: JsonObject): RouteDescription["query"] {
  const names = Array.isArray(required) ? required : [];
  return Object.entries(isObject(properties) ? properties : {}).map(([name, schema]) => ({
    name,
    required: names.includes(name),
    schema: isObject(schema) ? schema : {},
  }));
}

/** What a schema takes, as JSON Schema. */
function jsonSchemaOf(schema: z.ZodType): JsonObject {
  const { $schema: _, ...own } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any", reused: "inline", override: sayMore });
  return own;
}

/** Of a schema that renames fields before it reads them, what it reads; of a number in a query, that it is one. */
function sayMore({
  zodSchema,
  jsonSchema,
}: {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}): void {
  const { def } = zodSchema._zod;
  if (def.type === "pipe" && def.in instanceof z.ZodTransform && def.out instanceof z.ZodType)
    Object.assign(jsonSchema, jsonSchemaOf(def.out));
  if (jsonSchema.type === "integer" || jsonSchema.format !== undefined) delete jsonSchema.pattern;
}
