import { isObject, type JsonObject } from "@unigate/core";

/** Constraints that structured outputs do not take. They are told to the model in the description instead. */
const CONSTRAINTS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
  "uniqueItems",
] as const;
const MAPS_OF_SCHEMAS = new Set(["properties", "$defs", "definitions"]);
const SCHEMAS = new Set(["items", "anyOf", "allOf", "oneOf"]);

/**
 * A JSON schema as structured outputs take it: objects closed (`additionalProperties: false` where nothing is said),
 * constraints that are refused moved into the description, `oneOf` as `anyOf`. The given schema is not changed.
 */
export function outputSchema(schema: JsonObject): JsonObject {
  const made: JsonObject = {};
  const told: string[] = [];
  for (const [key, value] of Object.entries(schema)) {
    if (key === "$schema" || key === "__proto__") continue;
    if (isRefused(key, value)) told.push(`${key}: ${JSON.stringify(value)}`);
    else if (MAPS_OF_SCHEMAS.has(key) && isObject(value)) made[key] = mapOfSchemas(value);
    else if (SCHEMAS.has(key)) made[key === "oneOf" ? "anyOf" : key] = schemaOrList(value);
    else made[key] = value;
  }
  if (isObject(schema["properties"]) || schema["type"] === "object") made["additionalProperties"] ??= false;
  if (told.length > 0) {
    const description = typeof schema["description"] === "string" ? `${schema["description"]} ` : "";
    made["description"] = `${description}(${told.join(", ")})`;
  }
  return made;
}

function isRefused(key: string, value: unknown): boolean {
  if (key === "minItems") return typeof value === "number" && value > 1;
  return (CONSTRAINTS as readonly string[]).includes(key);
}

function mapOfSchemas(map: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(map).map(([name, schema]) => [name, schemaOrList(schema)]));
}

function schemaOrList(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(schemaOrList);
  return isObject(value) ? outputSchema(value) : value;
}
