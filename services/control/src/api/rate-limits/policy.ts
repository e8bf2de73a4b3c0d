import type { RateLimitPolicy } from "@unigate/core";
import type { SavedRow } from "../../saved/types.ts";

/** The resource of a policy's row. */
export function policyOf({ resource }: SavedRow): RateLimitPolicy {
  if (resource === null) throw new Error("a saved policy has no resource");
  return resource as object as RateLimitPolicy;
}
