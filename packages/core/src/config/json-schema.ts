import { z } from "zod";
import { isObject, type JsonObject } from "../json.ts";
import { DESCRIPTIONS, HOOK_DESCRIPTIONS } from "./descriptions.ts";
import { aliasesOf } from "./fields.ts";
import { OWN_FIELDS } from "./hooks.ts";
import { DESTINATIONS, EXCLUSIVE, SUFFICIENT } from "./rules.ts";
import { savedConfigSchema } from "./schema.ts";

const HOOK_LISTS = ["after_request_hooks", "before_request_hooks", "input_guardrails", "output_guardrails"];
const NODE = { $ref: "#/$defs/config" };
/** A model that names a saved provider; not the names of Workers AI. */
const MODEL_WITH_SLUG = "^@(?![ch]f/)[^/]+/";

/**
 * The config object as JSON Schema (draft 2020-12), for editors: what may be saved, older spellings of fields as
 * deprecated ones, and those rules between fields that a schema can state. That a plain provider needs a credential,
 * how drop_params are written, and how many targets there may be, only `compileConfig` says.
 */
export function configJsonSchema(): JsonObject {
  const { $schema, ...node } = z.toJSONSchema(savedConfigSchema, { io: "input", override: plain }) as JsonObject;
  return {
    $schema,
    $id: "urn:unigate:schemas:config",
    title: "Unigate config",
    description: "Where requests go and what happens to them on the way.",
    ...NODE,
    anyOf: [...goesSomewhere(), ...SUFFICIENT.map((field) => ({ required: [field] }))],
    if: { required: ["passthrough"], properties: { passthrough: { const: true } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { not: { anyOf: EXCLUSIVE.map((field) => ({ required: [field] })) } },
    $defs: { config: nodeSchema(node) },
  };
}

/** Leaves out what says nothing. */
function plain({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (isObject(jsonSchema.additionalProperties) && Object.keys(jsonSchema.additionalProperties).length === 0)
    delete jsonSchema.additionalProperties;
  if (isObject(jsonSchema.propertyNames) && Object.keys(jsonSchema.propertyNames).length === 1) delete jsonSchema.propertyNames;
}

function nodeSchema(node: JsonObject): JsonObject {
  const { sealed_credentials: _, ...fields } = objectAt(node, "properties");
  const properties: JsonObject = {};
  for (const [name, schema] of Object.entries(fields)) {
    if (!isObject(schema)) throw new TypeError(`the field ${name} has no schema`);
    properties[name] = { description: DESCRIPTIONS[name], ...(HOOK_LISTS.includes(name) ? hookList(schema) : described(schema, name)) };
    for (const alias of aliasesOf(name)) properties[alias] = { ...schema, description: `Older spelling of ${name}.`, deprecated: true };
  }
  const { cache, retry, strategy, cb_config } = properties;
  const older = { type: "string", enum: ["simple", "semantic"], deprecated: true };
  Object.assign(properties, {
    cache: { description: DESCRIPTIONS["cache"], anyOf: [cache, older] },
    retry: withOlderFlag(retry),
    strategy: withStrategyRules(strategy),
    cb_config: withThreshold(cb_config),
    targets: { description: DESCRIPTIONS["targets"], type: "array", minItems: 1, items: { ...NODE, anyOf: goesSomewhere() } },
  });
  return { ...node, properties, dependentRequired: { strategy: ["targets"], targets: ["strategy"] } };
}

/** The ways in which a node names where it goes. */
function goesSomewhere(): JsonObject[] {
  return [
    ...DESTINATIONS.map((field) => ({ required: [field] })),
    { required: ["passthrough"], properties: { passthrough: { const: true } } },
    { required: ["strategy", "targets"] },
    {
      required: ["override_params"],
      properties: { override_params: { required: ["model"], properties: { model: { type: "string", pattern: MODEL_WITH_SLUG } } } },
    },
  ];
}

/** An object or a list of objects with a description at each field. */
function described(schema: JsonObject, parent: string): JsonObject {
  const { items, properties } = schema;
  if (isObject(items)) return { ...schema, items: described(items, parent) };
  if (!isObject(properties)) return schema;
  const inner = Object.entries(properties).map(([name, field]) => {
    return [name, { description: DESCRIPTIONS[`${parent}.${name}`], ...(isObject(field) ? described(field, name) : {}) }];
  });
  return { ...schema, properties: Object.fromEntries(inner) as JsonObject };
}

/** Hooks and guardrails have the same fields, whatever list they stand in. */
function hookList(schema: JsonObject): JsonObject {
  const items = objectAt(schema, "items");
  const { anyOf } = items;
  if (!Array.isArray(anyOf)) return { ...schema, items: hookFields(items) };
  const forms = anyOf.map((form: JsonObject) => (form["type"] === "object" ? { ...hookFields(form), anyOf: namesChecks() } : form));
  return { ...schema, items: { ...items, anyOf: forms } };
}

function hookFields(schema: JsonObject): JsonObject {
  const { items, properties } = schema;
  if (isObject(items)) return { ...schema, items: hookFields(items) };
  if (!isObject(properties)) return schema;
  const fields = Object.entries(properties).map(([name, field]) => {
    return [name, { description: HOOK_DESCRIPTIONS[name], ...(isObject(field) ? hookFields(field) : {}) }];
  });
  return { ...schema, properties: Object.fromEntries(fields) as JsonObject };
}

/** An id, a list of checks, or a property that is a check. */
function namesChecks(): JsonObject[] {
  return [
    { required: ["id"] },
    { required: ["checks"], properties: { checks: { minItems: 1 } } },
    { not: { propertyNames: { enum: [...OWN_FIELDS] } } },
  ];
}

function withOlderFlag(retry: unknown): JsonObject {
  const schema = asObject(retry);
  const flag = { description: DESCRIPTIONS["retry.use_retry_after_header"], type: "boolean", deprecated: true };
  return { ...schema, properties: { ...objectAt(schema, "properties"), use_retry_after_header: flag } };
}

function withStrategyRules(strategy: unknown): JsonObject {
  const schema = asObject(strategy);
  const properties = objectAt(schema, "properties");
  const { cb_config, hedge } = properties;
  const onlyBalancing = { properties: { mode: { const: "loadbalance" } } };
  return {
    ...schema,
    properties: {
      ...properties,
      cb_config: withThreshold(cb_config),
      hedge: { ...asObject(hedge), oneOf: [{ required: ["delay_ms"] }, { required: ["percentile"] }] },
    },
    if: { properties: { mode: { const: "conditional" } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { required: ["conditions", "default"], properties: { conditions: { minItems: 1 } } },
    dependentSchemas: {
      select: onlyBalancing,
      sticky: onlyBalancing,
      hedge: { properties: { mode: { enum: ["fallback", "loadbalance"] } } },
    },
  };
}

function withThreshold(breaker: unknown): JsonObject {
  const thresholds = ["failure_threshold", "failure_threshold_percentage"];
  return { ...asObject(breaker), anyOf: thresholds.map((field) => ({ required: [field] })) };
}

function objectAt(schema: JsonObject, name: string): JsonObject {
  return asObject(schema[name]);
}

function asObject(value: unknown): JsonObject {
  if (!isObject(value)) throw new TypeError("the schema of a config is not of the form that was expected");
  return value;
}
