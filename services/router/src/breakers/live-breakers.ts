import {
  addOutcome,
  type BreakerPhase,
  type BreakerRule,
  type BreakerState,
  breakerOutcome,
  breakerPhase,
  CLOSED_BREAKER,
  type Clock,
  countOutcomes,
  endProbe,
  NO_COUNTS,
} from "@unigate/core";
import { type Breakers, StoreLostError } from "@unigate/storage";
import { LRUCache } from "lru-cache";
import { beginProbe, goOnAlone, newOrganisation, type OrganisationBreakers, takeExchange, takeReply } from "./organisation.ts";
import { addEnd, newTarget, readyProbe, targetPhase } from "./target.ts";

/** Organisations with live breakers that one replica remembers. */
const MOST_ORGANISATIONS = 2_000;
/** Targets that failed lately, of one organisation and of all. */
const MOST_TARGETS = 2_000;
const MOST_TARGETS_OF_ALL = 100_000;
/** An organisation that neither plans nor reports is not asked about after this, ms. */
const POLL_FOR_MS = 10_000;
/** Exchanges at once. */
const AT_ONCE = 32;

/** What an attempt says: its status, 0 = it was never made. */
export interface AttemptReport {
  readonly organisationId: string;
  readonly target: string;
  readonly rule: BreakerRule;
  readonly status: number;
  /** "" = a plain attempt. */
  readonly probeToken: string;
}

/** Counts since the start, as this replica saw them. */
export interface BreakerStatistics {
  /** Breakers that became so. */
  readonly changes: Readonly<Record<"open" | "closed", number>>;
  /** Breakers that are open or half-open now. */
  readonly open: number;
  /** Outcomes that were not counted because too many targets had failed. */
  readonly dropped: number;
  /** Exchanges that the store did not do. */
  readonly lost: number;
}

/** Breakers as a plan needs them: from memory only. A tick exchanges them with the other replicas through the store. */
export interface LiveBreakers {
  report(report: AttemptReport): void;
  /** Closed, or open; "probe" = half-open, and the next plan may use it with `beginProbe`. */
  look(organisationId: string, target: string): "closed" | "open" | "probe";
  /** The token of the one probe that may be made now; "" = none. */
  beginProbe(organisationId: string, target: string): string;
  /** What is known of targets that are not simply closed. */
  states(organisationId: string): Iterable<readonly [target: string, state: BreakerState]>;
  /** Exchanges everything that is due. Never rejects but for a fault. */
  tick(): Promise<void>;
  /** Exchanges one organisation now. */
  refresh(organisationId: string): Promise<void>;
  statistics(): BreakerStatistics;
}

export function createLiveBreakers(store: Breakers, clock: Clock): LiveBreakers {
  const changes = { open: 0, closed: 0 };
  let dropped = 0;
  let lost = 0;
  const organisations = new LRUCache<string, OrganisationBreakers>({ max: MOST_ORGANISATIONS });

  function used(organisationId: string): OrganisationBreakers {
    const now = clock.now();
    let known = organisations.get(organisationId);
    if (known === undefined) organisations.set(organisationId, (known = newOrganisation(now)));
    known.usedAt = now;
    return known;
  }

  function countTargets(): number {
    let count = 0;
    for (const known of organisations.values()) count += known.targets.size;
    return count;
  }

  /** How many targets there are is counted once a tick: between two, reports may add some. */
  let targetsOfAll = 0;

  function report({ organisationId, target: key, rule, status, probeToken }: AttemptReport): void {
    const now = clock.now();
    const known = used(organisationId);
    const outcome = breakerOutcome(status, rule);
    let target = known.targets.get(key);
    if (target === undefined) {
      // The success of a target that has not failed changes nothing.
      if (outcome !== "failure" && probeToken === "") return;
      if (known.targets.size >= MOST_TARGETS || targetsOfAll >= MOST_TARGETS_OF_ALL) {
        dropped += 1;
        return;
      }
      known.targets.set(key, (target = newTarget()));
      targetsOfAll += 1;
    }
    target.rule = rule;
    const before = target.state;
    if (probeToken === "") {
      // What ends while it is open says nothing.
      if (before.openUntil !== 0) return;
      target.counts = addOutcome(target.counts, outcome);
      target.state = countOutcomes(before, addOutcome(NO_COUNTS, outcome), rule, now);
    } else {
      addEnd(target, probeToken, outcome);
      // Planned by another replica, it is the store that knows whether the token still counts.
      if (target.probe?.token === probeToken && now < target.probe.until) {
        target.state = endProbe(target.state, outcome, rule, now);
        target.probe = null;
      }
    }
    noteChange(before, target.state, now);
  }

  function noteChange(before: BreakerState, after: BreakerState, now: number): void {
    const phase = breakerPhase(after, now);
    if (phase === breakerPhase(before, now)) return;
    if (phase !== "half_open") changes[phase] += 1;
  }

  /** One at a time for each organisation: replies are taken over in their order. */
  function exchange(organisationId: string, known: OrganisationBreakers): Promise<void> {
    known.exchange ??= exchangeNow(organisationId, known).finally(() => {
      known.exchange = null;
    });
    return known.exchange;
  }

  async function exchangeNow(organisationId: string, known: OrganisationBreakers): Promise<void> {
    const sentAt = clock.now();
    const sent = takeExchange(organisationId, known, sentAt);
    const isQuiet = sent.deltas.length + sent.wanted.length + sent.begun.length === 0;
    if (isQuiet && sentAt - known.usedAt > POLL_FOR_MS) return;
    const before = new Map([...known.targets].map(([key, { state }]) => [key, state]));
    try {
      takeReply(known, sent, await store.exchange(sent), sentAt, clock.now());
    } catch (error) {
      lost += 1;
      goOnAlone(known, sent, clock.now());
      if (!(error instanceof StoreLostError)) throw error;
      return;
    }
    const now = clock.now();
    for (const [key, { state }] of known.targets) noteChange(before.get(key) ?? CLOSED_BREAKER, state, now);
  }

  return {
    report,
    look(organisationId, key) {
      const now = clock.now();
      const target = used(organisationId).targets.get(key);
      const phase: BreakerPhase = target === undefined ? "closed" : targetPhase(target, now);
      if (target === undefined || phase !== "half_open") return phase === "closed" ? "closed" : "open";
      if (readyProbe(target, now) !== null) return "probe";
      target.wanted = true;
      return "open";
    },
    beginProbe: (organisationId, key) => beginProbe(used(organisationId).targets.get(key), clock.now()),
    *states(organisationId) {
      for (const [key, { state }] of organisations.peek(organisationId)?.targets ?? []) yield [key, state];
    },
    async tick() {
      const all = [...organisations];
      for (let from = 0; from < all.length; from += AT_ONCE)
        await Promise.all(all.slice(from, from + AT_ONCE).map(([id, known]) => exchange(id, known)));
      targetsOfAll = countTargets();
    },
    refresh: (organisationId) => exchange(organisationId, used(organisationId)),
    statistics() {
      const now = clock.now();
      let open = 0;
      for (const known of organisations.values())
        for (const target of known.targets.values()) if (targetPhase(target, now) !== "closed") open += 1;
      return { changes: { ...changes }, open, dropped, lost };
    },
  };
}
