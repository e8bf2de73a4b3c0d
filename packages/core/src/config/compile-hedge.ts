import type { ConfigNode } from "./schema.ts";
import type { HedgeRule } from "./types.ts";

type HedgeFields = NonNullable<NonNullable<ConfigNode["strategy"]>["hedge"]>;

/** Percent, when a config does not say it. */
const DEFAULT_MAX_EXTRA = 10;

/** The hedge of a strategy, which is added to `hedges`; null when it has none. `leaveOn` is that of HedgeRule. */
export function compileHedge(
  hedges: Map<string, HedgeRule>,
  fields: HedgeFields | undefined,
  path: string,
  leaveOn: HedgeRule["leaveOn"],
): HedgeRule | null {
  if (fields === undefined) return null;
  const rule: HedgeRule = {
    path,
    delayMs: fields.delay_ms ?? null,
    percentile: fields.percentile ?? null,
    maxExtraPercent: fields.max_extra_percent ?? DEFAULT_MAX_EXTRA,
    leaveOn,
  };
  hedges.set(path, rule);
  return rule;
}
