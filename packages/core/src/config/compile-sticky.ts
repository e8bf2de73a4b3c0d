import { fieldAt, type Reading } from "../conditions/reading.ts";
import type { HashField } from "../conditions/types.ts";
import { hashOfText } from "../plan/hash-of-text.ts";
import { joined } from "./rules.ts";
import type { ConfigNode } from "./schema.ts";
import type { StickyRule } from "./types.ts";

/** Seconds (behaviour 0). */
const DEFAULT_TTL = 3_600;

/** What keeps a balancer's choice; null when it is drawn anew for each request. */
export function compileSticky(reading: Reading, node: ConfigNode, path: string, optionPath: string): StickyRule | null {
  const sticky = node.strategy?.sticky;
  if (sticky === undefined || !sticky.enabled) return null;
  const fields: HashField[] = [];
  for (const [index, name] of (sticky.hash_fields ?? []).entries()) {
    const field = fieldAt(reading, name, joined(path, `strategy.sticky.hash_fields[${index}]`));
    if (field !== null) fields.push({ name, field });
  }
  return {
    fields,
    ttlMs: (sticky.ttl ?? DEFAULT_TTL) * 1_000,
    targets: (node.targets ?? []).map((_, index) => hashOfText(`${optionPath}.targets[${index}]`)),
  };
}
