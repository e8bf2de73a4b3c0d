import { isObject } from "@unigate/core";
import type { Budget } from "./budget.ts";
import { checkCombined, checkUnevaluated } from "./combine.ts";
import type { Groups, Schema } from "./keywords.ts";
import { checkArray } from "./of-arrays.ts";
import { checkObject } from "./of-objects.ts";
import { checkScalar } from "./of-scalars.ts";
import type { ReadSchema } from "./read-schema.ts";
import { newSeen, type Seen } from "./seen.ts";
import { fail, type Path, type SchemaError, type Site } from "./site.ts";

/**
 * What is wrong with a value, the first 20 errors; empty = it is valid. The schema is interpreted: nothing of it becomes
 * code. Throws when the budget is used up: then nothing is known.
 */
export function schemaErrors(whole: ReadSchema, value: unknown, budget: Budget): SchemaError[] {
  const errors: SchemaError[] = [];
  const top: Site = {
    whole,
    budget,
    schema: {},
    value,
    path: null,
    seen: null,
    errors,
    apply,
  };
  apply(top, whole.root, value, null, whole.tracks ? newSeen() : null, errors);
  return errors;
}

function apply(from: Site, schema: Schema, value: unknown, path: Path, seen: Seen | null, errors: SchemaError[] | null): boolean {
  from.budget.spend(1);
  if (schema === true) return true;
  if (schema === false) return fail({ path, errors }, "false", "nothing is allowed here");
  const { whole, budget } = from;
  const groups = whole.groups.get(schema);
  if (groups === undefined) throw new Error("a part of the schema was not read");
  budget.enter();
  const valid = checkAll({ whole, budget, schema, value, path, seen, errors, apply }, groups);
  budget.leave();
  return valid;
}

/** Goes on after a failure only where errors are wanted. */
function checkAll(site: Site, groups: Groups): boolean {
  const { value, errors, seen } = site;
  let valid = !groups.scalar || checkScalar(site);
  if (!valid && errors === null) return false;
  if (groups.array && Array.isArray(value)) valid = checkArray(site) && valid;
  if (groups.object && isObject(value)) valid = checkObject(site) && valid;
  if (!valid && errors === null) return false;
  if (groups.combined) valid = checkCombined(site) && valid;
  if (seen === null || (!valid && errors === null)) return valid;
  return checkUnevaluated(site) && valid;
}
