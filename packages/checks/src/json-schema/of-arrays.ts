import { canonical } from "./canonical.ts";
import { isSchema, type Schema } from "./keywords.ts";
import { newSeen } from "./seen.ts";
import { fail, type Site } from "./site.ts";

/** Keywords on arrays. */
export function checkArray(site: Site): boolean {
  const value = site.value as readonly unknown[];
  let valid = checkCount(site, value);
  if (valid || site.errors !== null) valid = checkItems(site, value) && valid;
  if (valid || site.errors !== null) valid = checkContains(site, value) && valid;
  return valid;
}

/** A schema over one item. */
export function checkItem(site: Site, schema: Schema, index: number, item: unknown): boolean {
  return site.apply(site, schema, item, { parent: site.path, key: index }, site.seen === null ? null : newSeen(), site.errors);
}

function checkCount(site: Site, value: readonly unknown[]): boolean {
  const { maxItems, minItems, uniqueItems } = site.schema;
  let valid = true;
  if (typeof maxItems === "number" && value.length > maxItems) valid = fail(site, "maxItems", `must have at most ${maxItems} items`);
  if (typeof minItems === "number" && value.length < minItems) valid = fail(site, "minItems", `must have at least ${minItems} items`);
  if (uniqueItems === true && new Set(value.map((item) => canonical(item, site.budget))).size < value.length)
    valid = fail(site, "uniqueItems", "must not have equal items");
  return valid;
}

/** In drafts before 2020-12 a list in `items` is what `prefixItems` is now, and `additionalItems` what `items` is. */
function checkItems(site: Site, value: readonly unknown[]): boolean {
  const { prefixItems, items, additionalItems } = site.schema;
  const isOld = Array.isArray(items);
  const first = (isOld ? items : Array.isArray(prefixItems) ? prefixItems : []) as readonly Schema[];
  const rest = isOld ? additionalItems : items;
  let valid = true;
  for (const [index, item] of value.entries()) {
    const schema = first[index] ?? rest;
    if (!isSchema(schema)) break;
    site.seen?.items.add(index);
    if (checkItem(site, schema, index, item)) continue;
    valid = false;
    if (site.errors === null) return false;
  }
  return valid;
}

function checkContains(site: Site, value: readonly unknown[]): boolean {
  const { contains, minContains, maxContains } = site.schema;
  if (!isSchema(contains)) return true;
  let found = 0;
  for (const [index, item] of value.entries()) {
    if (!site.apply(site, contains, item, null, site.seen === null ? null : newSeen(), null)) continue;
    found += 1;
    site.seen?.items.add(index);
  }
  const atLeast = typeof minContains === "number" ? minContains : 1;
  let valid = true;
  if (found < atLeast) valid = fail(site, "contains", `must have at least ${atLeast} items of the kind that it must contain`);
  if (typeof maxContains === "number" && found > maxContains)
    valid = fail(site, "maxContains", `must have at most ${maxContains} items of the kind that it must contain`);
  return valid;
}
