import { type BreakerState, breakerPhase, CLOSED_BREAKER, type Clock, counted, countOutcomes, endProbe, systemClock } from "@unigate/core";
import { LRUCache } from "lru-cache";
import {
  type BreakerDelta,
  type BreakerExchange,
  type BreakerExchangeReply,
  type Breakers,
  changedBreaker,
  GRANT_MS,
  KEEP_MS,
  MOST_CHANGES,
  MOST_TARGETS,
  PROBE_MS,
} from "./port.ts";

/** Organisations with breakers. */
const MOST_ORGANISATIONS = 2_000;

interface Kept {
  state: BreakerState;
  cooldownMs: number;
  version: number;
  probe: { readonly token: string; readonly until: number } | null;
}

/** Targets by key, the one whose last change is the oldest first. */
type Targets = Map<string, Kept>;

/** Breakers of this process. A call runs without a pause, so it is atomic. */
export function createMemoryBreakers(options: { readonly clock?: Clock } = {}): Breakers {
  const { clock = systemClock } = options;
  const organisations = new LRUCache<string, Targets>({ max: MOST_ORGANISATIONS });
  let version = 0;

  function stateOf(kept: Kept | undefined, now: number): BreakerState {
    if (kept === undefined) return CLOSED_BREAKER;
    const { state } = kept;
    if (state.openUntil !== 0 && now >= state.openUntil + KEEP_MS) return CLOSED_BREAKER;
    return counted(state, kept, now);
  }

  function keep(targets: Targets, target: string, state: BreakerState, cooldownMs: number): void {
    const probe = targets.get(target)?.probe ?? null;
    targets.delete(target);
    targets.set(target, { state, cooldownMs, version: ++version, probe });
    for (const oldest of targets.keys()) {
      if (targets.size <= MOST_TARGETS) break;
      targets.delete(oldest);
    }
  }

  function apply(targets: Targets, { target, rule, counts, probe }: BreakerDelta, now: number): void {
    const kept = targets.get(target);
    const state = stateOf(kept, now);
    let next: BreakerState;
    if (probe !== null && kept !== undefined && holds(kept, probe.token, now)) {
      kept.probe = null;
      next = endProbe(state, probe.outcome, rule, now);
    } else {
      next = countOutcomes(state, counts, rule, now);
    }
    if (next !== state) keep(targets, target, next, rule.cooldownMs);
  }

  function exchange(call: BreakerExchange): BreakerExchangeReply {
    const now = clock.now();
    let targets = organisations.get(call.organisationId);
    if (targets === undefined) organisations.set(call.organisationId, (targets = new Map()));
    for (const delta of call.deltas) apply(targets, delta, now);
    const granted: string[] = [];
    for (const { target, token } of call.wanted) {
      const kept = targets.get(target);
      if (kept === undefined || breakerPhase(stateOf(kept, now), now) !== "half_open") continue;
      if (kept.probe !== null && now < kept.probe.until) continue;
      kept.probe = { token, until: now + GRANT_MS };
      granted.push(token);
    }
    for (const { target, token } of call.begun) {
      const kept = targets.get(target);
      if (kept !== undefined && holds(kept, token, now)) kept.probe = { token, until: now + PROBE_MS };
    }
    return { ...changesOf(targets, call.since, now), granted };
  }

  function changesOf(targets: Targets, since: number, now: number): Pick<BreakerExchangeReply, "version" | "changed"> {
    const changed = [...targets].filter(([, kept]) => kept.version > since).slice(0, MOST_CHANGES);
    return {
      version: changed.at(-1)?.[1].version ?? since,
      changed: changed.map(([target, kept]) => changedBreaker(target, stateOf(kept, now), now)),
    };
  }

  return { exchange: async (call) => exchange(call) };
}

function holds({ probe }: Kept, token: string, now: number): boolean {
  return probe !== null && probe.token === token && now < probe.until;
}
