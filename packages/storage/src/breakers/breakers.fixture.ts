import { type BreakerCounts, type BreakerRule, breakerRule, NO_COUNTS } from "@unigate/core";
import type { BreakerDelta, BreakerExchange } from "./port.ts";

export const COOLDOWN = 30_000;

export function rule(over: Partial<Parameters<typeof breakerRule>[0]> = {}): BreakerRule {
  return breakerRule({ failure_threshold: 3, cooldown_interval: COOLDOWN, ...over });
}

export function delta(counts: Partial<BreakerCounts>, over: Partial<BreakerDelta> = {}): BreakerDelta {
  return { target: "t", rule: rule(), counts: { ...NO_COUNTS, ...counts }, probe: null, ...over };
}

export function exchanging(over: Partial<BreakerExchange> = {}): BreakerExchange {
  return { organisationId: "org-a", since: 0, deltas: [], wanted: [], begun: [], ...over };
}
