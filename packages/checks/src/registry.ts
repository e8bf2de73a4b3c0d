import type { Check } from "./define.ts";
import { checks } from "./registry.generated.ts";

const byId: ReadonlyMap<string, Check> = new Map(checks.map((check) => [check.id, check]));

/** The check of this id; an id without a dot means `default.` (behaviour 7.1). Null = there is none. */
export function findCheck(id: string): Check | null {
  return byId.get(id.includes(".") ? id : `default.${id}`) ?? null;
}
