import { newId } from "@unigate/core";
import { type BreakerDelta, type BreakerExchange, type BreakerExchangeReply, GRANT_MS, PROBE_MS } from "@unigate/storage";
import { adopt, type BreakerTarget, isForgettable, newTarget, readyProbe, takeDeltas, targetPhase } from "./target.ts";

/** Deltas in one exchange; the rest waits for the next. */
const MOST_DELTAS = 500;
/** A granted probe is begun this much before the store would give it to somebody else, ms: more than a late exchange takes. */
const GRANT_MARGIN_MS = 1_000;

/** What this replica knows of the breakers of one organisation. */
export interface OrganisationBreakers {
  /** Only targets that failed lately: what is not here is closed. */
  readonly targets: Map<string, BreakerTarget>;
  /** The store's version up to which everything is known. */
  since: number;
  /** Unix ms of the last plan or report. */
  usedAt: number;
  /** The exchange that is under way. */
  exchange: Promise<void> | null;
}

export function newOrganisation(now: number): OrganisationBreakers {
  return { targets: new Map(), since: 0, usedAt: now, exchange: null };
}

/** What one exchange tells and asks. It is taken out: a call that fails takes its deltas with it. */
export function takeExchange(organisationId: string, known: OrganisationBreakers, now: number): BreakerExchange {
  const deltas: BreakerDelta[] = [];
  const wanted: { target: string; token: string }[] = [];
  const begun: { target: string; token: string }[] = [];
  for (const [key, target] of known.targets) {
    if (deltas.length < MOST_DELTAS) deltas.push(...takeDeltas(key, target));
    const { probe } = target;
    const isFree = probe === null || now >= probe.until;
    if (target.wanted && isFree && targetPhase(target, now) === "half_open") wanted.push({ target: key, token: newId("prb") });
    if (probe?.begun === true && !probe.told) {
      probe.told = true;
      begun.push({ target: key, token: probe.token });
    }
  }
  return { organisationId, since: known.since, deltas, wanted, begun };
}

/** Takes over what the store said. `sentAt` = when it was asked: probes are counted from then. */
export function takeReply(
  known: OrganisationBreakers,
  sent: BreakerExchange,
  reply: BreakerExchangeReply,
  sentAt: number,
  now: number,
): void {
  known.since = reply.version;
  for (const changed of reply.changed) {
    let target = known.targets.get(changed.target);
    if (target === undefined) known.targets.set(changed.target, (target = newTarget()));
    adopt(target, changed, now);
  }
  const granted = new Set(reply.granted);
  for (const { target: key, token } of sent.wanted) {
    if (granted.has(token)) grant(known.targets.get(key), token, sentAt + GRANT_MS - GRANT_MARGIN_MS);
  }
  forgetSettled(known, now);
}

/** Without the store this replica is alone: it makes its own probes. */
export function goOnAlone(known: OrganisationBreakers, sent: BreakerExchange, now: number): void {
  for (const { target, token } of sent.wanted) grant(known.targets.get(target), token, now + GRANT_MS);
  for (const { target, token } of sent.begun) {
    const probe = known.targets.get(target)?.probe ?? null;
    if (probe?.token === token) probe.told = false;
  }
  forgetSettled(known, now);
}

function grant(target: BreakerTarget | undefined, token: string, until: number): void {
  if (target === undefined) return;
  target.probe = { token, begun: false, told: false, until };
}

function forgetSettled(known: OrganisationBreakers, now: number): void {
  for (const [key, target] of known.targets) if (isForgettable(target, now)) known.targets.delete(key);
}

/** Begins the probe of a target that has one ready, and gives its token; "" = none. */
export function beginProbe(target: BreakerTarget | undefined, now: number): string {
  const probe = target === undefined ? null : readyProbe(target, now);
  if (probe === null) return "";
  probe.begun = true;
  probe.until = now + PROBE_MS;
  return probe.token;
}
