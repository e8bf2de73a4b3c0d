import type { AttemptOutcome, ReportRequest } from "@unigate/contracts";
import type { LiveBreakers } from "./breakers/live-breakers.ts";
import type { CompiledConfigs } from "./compiled-configs.ts";
import { targetKey } from "./target-key.ts";

/** Outcomes looked at in one report; an edge sends 256. */
const MOST_OUTCOMES = 1_000;

export interface ReportDeps {
  readonly configs: CompiledConfigs;
  readonly breakers: LiveBreakers;
  /** Outcomes that nothing could be made of: too many, of a config that is not known here, or of no target of it. */
  drop(count: number): void;
}

/** Counts outcomes in memory; the next tick shares them. Never more than a look-up each, so a flood costs little. */
export function report(deps: ReportDeps, { outcomes }: ReportRequest): void {
  const most = Math.min(outcomes.length, MOST_OUTCOMES);
  let dropped = outcomes.length - most;
  for (let index = 0; index < most; index++) {
    const outcome = outcomes[index];
    if (outcome === undefined || !reportOne(deps, outcome)) dropped += 1;
  }
  if (dropped > 0) deps.drop(dropped);
}

function reportOne({ configs, breakers }: ReportDeps, outcome: AttemptOutcome): boolean {
  const organisationId = outcome.tenant?.organisationId ?? "";
  const leaf = configs.leafAt(organisationId, outcome.configHash, outcome.optionPath);
  if (leaf === null) return false;
  if (leaf.breaker === null) return true;
  breakers.report({
    organisationId,
    target: targetKey(outcome, leaf.optionPath),
    rule: leaf.breaker,
    status: outcome.status,
    probeToken: outcome.probeToken,
  });
  return true;
}
