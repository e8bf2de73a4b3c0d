import { isObject, type JsonObject } from "@unigate/core";
import { isNames, isSchema, type Schema } from "./keywords.ts";
import { matchesPattern } from "./of-scalars.ts";
import { newSeen } from "./seen.ts";
import { fail, type Site } from "./site.ts";

/** Keywords on objects. */
export function checkObject(site: Site): boolean {
  const value = site.value as JsonObject;
  const names = Object.keys(value);
  site.budget.spend(names.length);
  let valid = checkNames(site, value, names);
  if (valid || site.errors !== null) valid = checkProperties(site, value, names) && valid;
  return valid;
}

/** A schema over one property. */
export function checkProperty(site: Site, schema: Schema, name: string, value: unknown): boolean {
  return site.apply(site, schema, value, { parent: site.path, key: name }, site.seen === null ? null : newSeen(), site.errors);
}

/** Which properties there must be, how many, and how they may be called. */
function checkNames(site: Site, value: JsonObject, names: readonly string[]): boolean {
  const { maxProperties, minProperties, required, propertyNames, dependentRequired, dependencies } = site.schema;
  let valid = checkRequired(site, "required", required, value);
  for (const [keyword, needs] of [
    ["dependentRequired", dependentRequired],
    ["dependencies", dependencies],
  ] as const) {
    if (!isObject(needs)) continue;
    const entries = Object.entries(needs);
    site.budget.spend(entries.length);
    for (const [name, needed] of entries) if (Object.hasOwn(value, name)) valid = checkRequired(site, keyword, needed, value) && valid;
  }
  if (typeof maxProperties === "number" && names.length > maxProperties)
    valid = fail(site, "maxProperties", `must have at most ${maxProperties} properties`);
  if (typeof minProperties === "number" && names.length < minProperties)
    valid = fail(site, "minProperties", `must have at least ${minProperties} properties`);
  if (isSchema(propertyNames) && !names.every((name) => site.apply(site, propertyNames, name, null, null, null)))
    valid = fail(site, "propertyNames", "must have allowed property names only");
  return valid;
}

function checkRequired(site: Site, keyword: string, required: unknown, value: JsonObject): boolean {
  if (!isNames(required)) return true;
  site.budget.spend(required.length);
  let valid = true;
  for (const name of required)
    if (!Object.hasOwn(value, name)) valid = fail(site, keyword, `must have the property "${name.slice(0, 100)}"`);
  return valid;
}

function checkProperties(site: Site, value: JsonObject, names: readonly string[]): boolean {
  const { properties, patternProperties, additionalProperties } = site.schema;
  const patterned = isObject(patternProperties) ? Object.entries(patternProperties) : [];
  let valid = true;
  for (const name of names) {
    let known = false;
    const under = (schema: unknown): void => {
      known = true;
      if (isSchema(schema)) valid = checkProperty(site, schema, name, value[name]) && valid;
    };
    if (isObject(properties) && Object.hasOwn(properties, name)) under(properties[name]);
    for (const [source, schema] of patterned) if (matchesPattern(site, source, name)) under(schema);
    if (!known && isSchema(additionalProperties)) {
      known = true;
      if (additionalProperties === false) valid = fail(site, "additionalProperties", `must not have the property "${name.slice(0, 100)}"`);
      else under(additionalProperties);
    }
    if (known) site.seen?.properties.add(name);
    if (!valid && site.errors === null) return false;
  }
  return valid;
}
