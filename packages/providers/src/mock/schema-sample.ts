import { isObject, type JsonObject } from "@unigate/core";

/** Deepest schema that is followed; below it values are null. */
const MAX_DEPTH = 20;
const MAX_ITEMS = 100;
const MAX_TEXT = 1_000;

/**
 * A value that fits a JSON schema of the usual kind (types, enum, const, default, properties, items, bounds, local
 * `$ref`, the first of `anyOf`/`oneOf`, all of `allOf`). The same schema gives the same value. Patterns are not followed.
 */
export function sampleOf(schema: unknown): unknown {
  return sample(schema, isObject(schema) ? schema : {}, 0);
}

function sample(given: unknown, root: JsonObject, depth: number): unknown {
  if (!isObject(given) || depth > MAX_DEPTH) return null;
  const schema = typeof given["$ref"] === "string" ? referenced(given["$ref"], root) : given;
  if (!isObject(schema)) return null;
  if ("const" in schema) return schema["const"];
  if ("default" in schema) return schema["default"];
  const choices = schema["enum"];
  if (Array.isArray(choices) && choices.length > 0) return choices[0] as unknown;
  const variants = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(variants) && variants.length > 0) return sample(variants[0], root, depth + 1);
  if (Array.isArray(schema["allOf"])) return sampleOfAll(schema["allOf"], schema, root, depth);
  return sampleOfType(typeOf(schema), schema, root, depth);
}

function sampleOfType(type: string, schema: JsonObject, root: JsonObject, depth: number): unknown {
  switch (type) {
    case "object":
      return sampleObject(schema, root, depth);
    case "array": {
      const length = Math.min(Math.max(bound(schema["minItems"], 1), 0), MAX_ITEMS);
      return Array.from({ length }, () => sample(schema["items"] ?? { type: "string" }, root, depth + 1));
    }
    case "integer":
      return Math.ceil(lowest(schema));
    case "number":
      return lowest(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return sampleText(schema);
  }
}

function sampleObject(schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const value: JsonObject = {};
  const properties = schema["properties"];
  if (!isObject(properties)) return value;
  for (const [name, property] of Object.entries(properties)) if (name !== "__proto__") value[name] = sample(property, root, depth + 1);
  return value;
}

function sampleOfAll(parts: readonly unknown[], schema: JsonObject, root: JsonObject, depth: number): JsonObject {
  const value = sampleObject(schema, root, depth);
  for (const part of parts) {
    const piece = sample(part, root, depth + 1);
    if (isObject(piece)) Object.assign(value, piece);
  }
  return value;
}

function typeOf(schema: JsonObject): string {
  const type = schema["type"];
  if (typeof type === "string") return type;
  if (Array.isArray(type) && typeof type[0] === "string") return type[0];
  return isObject(schema["properties"]) ? "object" : "string";
}

function lowest(schema: JsonObject): number {
  if (typeof schema["exclusiveMinimum"] === "number") return schema["exclusiveMinimum"] + 1;
  return Math.min(Math.max(1, bound(schema["minimum"], 1)), bound(schema["maximum"], Number.MAX_SAFE_INTEGER));
}

function sampleText(schema: JsonObject): string {
  switch (schema["format"]) {
    case "date":
      return "2025-01-31";
    case "date-time":
      return "2025-01-31T12:00:00Z";
    case "email":
      return "mock@example.com";
    case "uri":
      return "https://example.com/mock";
    default: {
      const least = Math.min(bound(schema["minLength"], 0), MAX_TEXT);
      return "mock".padEnd(least, "-").slice(0, Math.max(bound(schema["maxLength"], MAX_TEXT), least));
    }
  }
}

function bound(value: unknown, absent: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : absent;
}

/** The target of a reference inside the same schema ("#/$defs/name"). */
function referenced(reference: string, root: JsonObject): unknown {
  if (!reference.startsWith("#")) return null;
  let value: unknown = root;
  for (const part of reference.slice(1).split("/").slice(1, 20)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isObject(value) || !Object.hasOwn(value, name)) return null;
    value = value[name];
  }
  return value;
}
