import type { Clock } from "@unigate/core";
import { averaged, type InFlightDelta, type MeasurementExchange, type Measurements, StoreLostError } from "@unigate/storage";
import { LRUCache } from "lru-cache";

/** Targets that one replica measures: of one organisation, and organisations. */
const MOST_TARGETS = 1_000;
const MOST_ORGANISATIONS = 1_000;
/** Targets asked about in one exchange; the rest takes its turn. */
const MOST_ASKED = 250;
/** A target that no plan looks at is not asked about after this, ms. */
const POLL_FOR_MS = 10_000;
/** An average without an answer for this long says nothing of now. */
const STALE_MS = 30_000;
/** A target without a recent answer is tried once in this time by each replica. */
const EXPLORE_EVERY_MS = 5_000;
/** What is planned here is counted as under way until the edges have told of it (two ticks and a report), or it is over. */
const PLANNED_FOR_MS = 600;
/** What a failed attempt counts: it costs its caller more than a slow answer. */
const FAILED_MS = 10_000;

interface Target {
  latencyMs: number | null;
  sampledAt: number;
  inFlight: number;
  /** Plans of this replica, by when they were made; the edges tell of them a little later. */
  readonly planned: number[];
  exploredAt: number;
  usedAt: number;
  /** Not told to the store. */
  count: number;
  sumMs: number;
  readonly reports: Map<string, { readonly count: number; readonly at: number }>;
}

/** Latencies and requests under way as a plan needs them: from memory only. */
export interface LiveMeasurements {
  latencyMs(organisationId: string, target: string): number | null;
  explore(organisationId: string, target: string): boolean;
  inFlight(organisationId: string, target: string): number;
  /** A plan sends its request there. */
  planned(organisationId: string, target: string): void;
  /** An attempt has its answer. */
  answered(organisationId: string, target: string, status: number, firstByteMs: number): void;
  /** A process tells how many requests it has under way. */
  underWay(organisationId: string, delta: InFlightDelta): void;
  tick(): Promise<void>;
}

export function createLiveMeasurements(store: Measurements, clock: Clock): LiveMeasurements {
  const organisations = new LRUCache<string, LRUCache<string, Target>>({ max: MOST_ORGANISATIONS });

  function targetOf(organisationId: string, key: string): Target {
    let targets = organisations.get(organisationId);
    if (targets === undefined) organisations.set(organisationId, (targets = new LRUCache({ max: MOST_TARGETS })));
    let target = targets.get(key);
    if (target === undefined) targets.set(key, (target = newTarget()));
    return target;
  }

  function look(organisationId: string, key: string): Target {
    const target = targetOf(organisationId, key);
    target.usedAt = clock.now();
    return target;
  }

  async function exchange(organisationId: string, targets: LRUCache<string, Target>): Promise<void> {
    const now = clock.now();
    const call = takeExchange(organisationId, targets, now);
    if (call === null) return;
    try {
      const told = await store.exchange(call);
      for (const [index, { latencyMs, ageMs, inFlight }] of told.entries()) {
        const target = targets.peek(call.asked[index] ?? "");
        if (target === undefined) continue;
        target.latencyMs = latencyMs;
        target.sampledAt = clock.now() - ageMs;
        target.inFlight = inFlight;
      }
    } catch (error) {
      if (!(error instanceof StoreLostError)) throw error;
    }
  }

  return {
    latencyMs(organisationId, key) {
      const { latencyMs, sampledAt, usedAt } = look(organisationId, key);
      return latencyMs === null || usedAt - sampledAt >= STALE_MS ? null : latencyMs;
    },
    explore(organisationId, key) {
      const target = look(organisationId, key);
      if (target.usedAt - target.exploredAt < EXPLORE_EVERY_MS) return false;
      target.exploredAt = target.usedAt;
      return true;
    },
    inFlight(organisationId, key) {
      const target = look(organisationId, key);
      dropBefore(target.planned, target.usedAt - Math.min(PLANNED_FOR_MS, target.latencyMs ?? PLANNED_FOR_MS));
      return target.inFlight + target.planned.length;
    },
    planned(organisationId, key) {
      const target = look(organisationId, key);
      dropBefore(target.planned, target.usedAt - Math.min(PLANNED_FOR_MS, target.latencyMs ?? PLANNED_FOR_MS));
      if (target.planned.length < 10_000) target.planned.push(target.usedAt);
    },
    answered(organisationId, key, status, firstByteMs) {
      const target = targetOf(organisationId, key);
      const ms = status >= 200 && status < 300 ? firstByteMs : Math.max(FAILED_MS, firstByteMs);
      target.count += 1;
      target.sumMs += ms;
      target.latencyMs = averaged(target.latencyMs, 1, ms);
      target.sampledAt = clock.now();
    },
    underWay(organisationId, { target: key, reporter, count, at }) {
      const { reports } = targetOf(organisationId, key);
      const before = reports.get(reporter);
      if (before === undefined || before.at <= at) reports.set(reporter, { count, at });
    },
    async tick() {
      await Promise.all([...organisations].map(([id, targets]) => exchange(id, targets)));
    },
  };
}

function newTarget(): Target {
  return {
    latencyMs: null,
    sampledAt: 0,
    inFlight: 0,
    planned: [],
    exploredAt: Number.NEGATIVE_INFINITY,
    usedAt: 0,
    count: 0,
    sumMs: 0,
    reports: new Map(),
  };
}

/** What is new, and what plans look at; null = nothing. A lost exchange takes what is new with it. */
function takeExchange(organisationId: string, targets: LRUCache<string, Target>, now: number): MeasurementExchange | null {
  const latencies: { target: string; count: number; meanMs: number }[] = [];
  const inFlight: InFlightDelta[] = [];
  const asked: string[] = [];
  for (const [key, target] of targets) {
    if (target.count > 0) latencies.push({ target: key, count: target.count, meanMs: target.sumMs / target.count });
    target.count = 0;
    target.sumMs = 0;
    for (const [reporter, { count, at }] of target.reports) inFlight.push({ target: key, reporter, count, at });
    target.reports.clear();
    if (asked.length < MOST_ASKED && now - target.usedAt <= POLL_FOR_MS) asked.push(key);
  }
  if (latencies.length + inFlight.length + asked.length === 0) return null;
  return { organisationId, latencies, inFlight, asked };
}

function dropBefore(times: number[], oldest: number): void {
  let count = 0;
  while ((times[count] ?? Number.POSITIVE_INFINITY) < oldest) count += 1;
  if (count > 0) times.splice(0, count);
}
