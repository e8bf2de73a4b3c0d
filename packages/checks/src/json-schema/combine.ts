import { isObject, type JsonObject } from "@unigate/core";
import { isSchema, type Schema } from "./keywords.ts";
import { checkItem } from "./of-arrays.ts";
import { checkProperty } from "./of-objects.ts";
import { addSeen, seenBeside } from "./seen.ts";
import { fail, type SchemaError, type Site } from "./site.ts";

/** Keywords that put further schemas over the same value. */
export function checkCombined(site: Site): boolean {
  const { schema, whole } = site;
  const { $ref, allOf, not } = schema;
  let valid = true;
  if (typeof $ref === "string") valid = passes(site, whole.targets.get($ref) ?? false, site.errors);
  if (Array.isArray(allOf)) for (const one of allOf as readonly Schema[]) valid = passes(site, one, site.errors) && valid;
  if (!valid && site.errors === null) return false;
  valid = checkAnyOf(site) && valid;
  valid = checkOneOf(site) && valid;
  if (isSchema(not) && site.apply(site, not, site.value, null, seenBeside(site.seen), null))
    valid = fail(site, "not", "must not be what the schema rules out");
  valid = checkIf(site) && valid;
  return checkDependent(site) && valid;
}

/** `unevaluatedItems` and `unevaluatedProperties`: what no other keyword has looked at. Comes last. */
export function checkUnevaluated(site: Site): boolean {
  const { schema, value, seen } = site;
  const { unevaluatedItems, unevaluatedProperties } = schema;
  if (seen === null) return true;
  let valid = true;
  if (isSchema(unevaluatedItems) && Array.isArray(value)) {
    if (!seen.allItems)
      for (const [index, item] of value.entries())
        if (!seen.items.has(index)) valid = checkItem(site, unevaluatedItems, index, item) && valid;
    seen.allItems = true;
  }
  if (isSchema(unevaluatedProperties) && isObject(value)) {
    site.budget.spend(Object.keys(value).length);
    if (!seen.allProperties)
      for (const [name, item] of Object.entries(value))
        if (!seen.properties.has(name)) valid = checkProperty(site, unevaluatedProperties, name, item) && valid;
    seen.allProperties = true;
  }
  return valid;
}

/** Another schema over the same value; what it looks at counts only when it passes. */
function passes(site: Site, schema: Schema, errors: SchemaError[] | null): boolean {
  const seen = seenBeside(site.seen);
  const valid = site.apply(site, schema, site.value, site.path, seen, errors);
  if (valid && seen !== null) {
    site.budget.spend(seen.properties.size + seen.items.size);
    addSeen(site.seen, seen);
  }
  return valid;
}

function checkAnyOf(site: Site): boolean {
  const { anyOf } = site.schema;
  if (!Array.isArray(anyOf)) return true;
  let found = false;
  for (const one of anyOf as readonly Schema[]) {
    found = passes(site, one, null) || found;
    if (found && site.seen === null) return true;
  }
  return found || fail(site, "anyOf", "must be what at least one of the listed schemas allows");
}

function checkOneOf(site: Site): boolean {
  const { oneOf } = site.schema;
  if (!Array.isArray(oneOf)) return true;
  let found = 0;
  for (const one of oneOf as readonly Schema[]) if (passes(site, one, null)) found += 1;
  return found === 1 || fail(site, "oneOf", `must be what exactly one of the listed schemas allows, not ${found}`);
}

function checkIf(site: Site): boolean {
  const { if: condition, then, else: otherwise } = site.schema;
  if (!isSchema(condition)) return true;
  const branch = passes(site, condition, null) ? then : otherwise;
  return !isSchema(branch) || passes(site, branch, site.errors);
}

function checkDependent(site: Site): boolean {
  const { dependentSchemas, dependencies } = site.schema;
  if (!isObject(site.value)) return true;
  const value: JsonObject = site.value;
  let valid = true;
  for (const needs of [dependentSchemas, dependencies]) {
    if (!isObject(needs)) continue;
    const entries = Object.entries(needs);
    site.budget.spend(entries.length);
    for (const [name, schema] of entries)
      if (Object.hasOwn(value, name) && isSchema(schema)) valid = passes(site, schema, site.errors) && valid;
  }
  return valid;
}
