import type { AttemptOutcome, InFlight, ReportRequest } from "@unigate/contracts";
import type { LiveBreakers } from "./breakers/live-breakers.ts";
import type { CompiledConfigs } from "./compiled-configs.ts";
import type { LiveMeasurements } from "./measurements/live-measurements.ts";
import { targetKey } from "./target-key.ts";

/** Characters of a reporter. */
const MOST_NAME = 100;
/** Outcomes looked at in one report; an edge sends 256. */
const MOST_OUTCOMES = 1_000;

export interface ReportDeps {
  readonly configs: CompiledConfigs;
  readonly breakers: LiveBreakers;
  readonly measurements: LiveMeasurements;
  /** Outcomes that nothing could be made of: too many, of a config that is not known here, or of no target of it. */
  drop(count: number): void;
}

/** Counts outcomes in memory; the next tick shares them. Never more than a look-up each, so a flood costs little. */
export function report(deps: ReportDeps, { outcomes, inFlight, reporter }: ReportRequest): void {
  const most = Math.min(outcomes.length, MOST_OUTCOMES);
  let dropped = outcomes.length - most;
  for (let index = 0; index < most; index++) {
    const outcome = outcomes[index];
    if (outcome === undefined || !reportOne(deps, outcome)) dropped += 1;
  }
  for (const one of inFlight.slice(0, MOST_OUTCOMES)) if (!underWay(deps, one, reporter)) dropped += 1;
  if (dropped > 0) deps.drop(dropped);
}

function underWay({ configs, measurements }: ReportDeps, one: InFlight, reporter: string): boolean {
  const organisationId = one.tenant?.organisationId ?? "";
  const leaf = configs.leafAt(organisationId, one.configHash, one.optionPath);
  if (leaf === null || reporter.length > MOST_NAME) return false;
  measurements.underWay(organisationId, { target: targetKey(one, leaf.optionPath), reporter, count: one.count, at: one.at });
  return true;
}

function reportOne({ configs, breakers, measurements }: ReportDeps, outcome: AttemptOutcome): boolean {
  const organisationId = outcome.tenant?.organisationId ?? "";
  const leaf = configs.leafAt(organisationId, outcome.configHash, outcome.optionPath);
  if (leaf === null) return false;
  const target = targetKey(outcome, leaf.optionPath);
  if (outcome.status !== 0 && configs.isMeasured(organisationId, outcome.configHash))
    measurements.answered(organisationId, target, outcome.status, outcome.firstByteMs);
  if (leaf.breaker === null) return true;
  breakers.report({
    organisationId,
    target,
    rule: leaf.breaker,
    status: outcome.status,
    probeToken: outcome.probeToken,
  });
  return true;
}
