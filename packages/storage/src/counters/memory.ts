import { type Clock, systemClock } from "@unigate/core";
import { counterKey, reservationKey } from "./counter-key.ts";
import { ExpiryQueue } from "./expiry-queue.ts";
import {
  type Counters,
  CountersFullError,
  type Left,
  type PeekCall,
  type ReserveCall,
  type ReserveResult,
  type ScopeResult,
  type Take,
} from "./port.ts";
import { type Counter, type Held, loseReservation, newReservation, type Reservation, settleReservation } from "./reservation.ts";
import { windowStart } from "./window.ts";

/** Ended things looked at in one call, beside as many as it takes: no call pays for many others. */
const SWEEP = 8;
/** Leases of settled reservations stay queued until they are more than the live ones and this many. */
const LEASE_SLACK = 1_024;
/** What a caller is told to wait when no window's end says it. */
const CONCURRENCY_RETRY_MS = 1_000;

export interface MemoryCountersOptions {
  readonly clock?: Clock;
  /** Live counters and reservations together. Default 1,000,000. */
  readonly maxEntries?: number;
}

export interface MemoryCounters extends Counters {
  /** Live counters and reservations. */
  size(): number;
}

/** A take beside the counter it is about, which need not exist yet. */
interface Tested {
  readonly take: Take;
  readonly key: string;
  readonly expiresAt: number | null;
  readonly counter: Counter | null;
  readonly fits: boolean;
}

/** Counters of this process. A call runs without a pause, so it is atomic. */
export function createMemoryCounters(options: MemoryCountersOptions = {}): MemoryCounters {
  const { clock = systemClock, maxEntries = 1_000_000 } = options;
  const counters = new Map<string, Counter>();
  const reservations = new Map<string, Reservation>();
  const windows = new ExpiryQueue();
  const leases = new ExpiryQueue();

  function reserve(call: ReserveCall): ReserveResult {
    const now = clock.now();
    const takes = (call.request?.length ?? 0) + (call.target?.length ?? 0);
    sweep(now, SWEEP + takes);
    if (takes > 0) makeRoom(now, takes + 1);
    const key = reservationKey(call.organisationId, call.reservationId);
    const known = liveReservation(key, now);
    if (known?.attempts.has(call.attempt) === true) return repeated(call, key, known, now);
    const request = tested(call, call.request, now);
    const requestResult = request === null ? null : resultOf(request, now);
    if (request !== null && requestResult?.allowed === false) return { request: requestResult, target: null };
    const target = tested(call, call.target, now);
    const targetResult = target === null ? null : resultOf(target, now);
    if (takes > 0) {
      const reservation = known ?? newReservation();
      if (request !== null && request.length > 0) {
        reservation.request = request.map(hold);
        reservation.requestAttempt = call.attempt;
      }
      const held = target !== null && targetResult?.allowed === true ? target.map(hold) : [];
      reservation.attempts.set(call.attempt, { target: held, refused: targetResult?.allowed === false, settled: false });
      lease(key, reservation, now + call.leaseMs);
    }
    return { request: requestResult, target: targetResult };
  }

  /** Nothing is taken twice. Of a refused target nothing was taken, so asking for it again is no repeat. */
  function repeated(call: ReserveCall, key: string, reservation: Reservation, now: number): ReserveResult {
    const request = shown(call, call.request, now);
    const attempt = reservation.attempts.get(call.attempt);
    if (attempt === undefined || !attempt.refused || attempt.settled) return { request, target: shown(call, call.target, now) };
    const target = tested(call, call.target, now);
    const targetResult = target === null ? null : resultOf(target, now);
    if (target !== null && targetResult?.allowed === true) {
      attempt.target = target.map(hold);
      attempt.refused = false;
      lease(key, reservation, now + call.leaseMs);
    }
    return { request, target: targetResult };
  }

  function peek(call: PeekCall): ReserveResult {
    const now = clock.now();
    sweep(now, SWEEP + (call.request?.length ?? 0) + (call.target?.length ?? 0));
    return { request: looked(call, call.request, now), target: looked(call, call.target, now) };
  }

  function looked(call: PeekCall, takes: readonly Take[] | null, now: number): ScopeResult | null {
    const states = tested(call, takes, now);
    return states === null ? null : { ...resultOf(states, now), remaining: states.map((state) => leftOf(state, false)) };
  }

  function lease(key: string, reservation: Reservation, until: number): void {
    reservation.expiresAt = Math.max(reservation.expiresAt, until);
    reservations.set(key, reservation);
    leases.push(reservation.expiresAt, key);
    if (leases.size <= 2 * reservations.size + LEASE_SLACK) return;
    leases.rebuild(Array.from(reservations, ([live, { expiresAt }]) => ({ at: expiresAt, key: live })));
  }

  function tested(call: PeekCall, takes: readonly Take[] | null, now: number): Tested[] | null {
    if (takes === null) return null;
    return takes.map((take) => {
      const start = take.windowMs === null ? 0 : windowStart(now, take.windowMs);
      const key = counterKey(call.organisationId, take.limitId, take.bucket, start);
      const counter = counters.get(key) ?? null;
      const fits = take.limit > 0 && (counter?.value ?? 0) + take.amount <= take.limit;
      return { take, key, expiresAt: take.windowMs === null ? null : start + take.windowMs, counter, fits };
    });
  }

  /** The verdict of a repeated call: nothing is taken, what is left is told. */
  function shown(call: ReserveCall, takes: readonly Take[] | null, now: number): ScopeResult | null {
    const states = tested(call, takes, now);
    if (states === null) return null;
    return { allowed: true, refusedAt: null, retryAfterMs: 0, remaining: states.map((state) => leftOf(state, false)) };
  }

  /** Looks again for the counter: the other scope of the same call may have made it since it was tested. */
  function hold({ take, key, expiresAt }: Tested): Held {
    let counter = counters.get(key);
    if (counter === undefined) {
      counter = { key, expiresAt, value: 0 };
      counters.set(key, counter);
      if (expiresAt !== null) windows.push(expiresAt, key);
    }
    counter.value += take.amount;
    return { counter, measure: take.measure, amount: take.amount };
  }

  function liveReservation(key: string, now: number): Reservation | null {
    const found = reservations.get(key);
    if (found === undefined) return null;
    if (found.expiresAt > now) return found;
    loseReservation(found);
    forget(key, found);
    return null;
  }

  function forget(key: string, reservation: Reservation): void {
    reservations.delete(key);
    dropIdle(reservation);
  }

  /** A concurrency counter that nobody holds ends here; windows end by time. */
  function dropIdle(reservation: Reservation): void {
    for (const { counter } of reservation.request) if (isIdle(counter)) counters.delete(counter.key);
    for (const attempt of reservation.attempts.values()) {
      for (const { counter } of attempt.target) if (isIdle(counter)) counters.delete(counter.key);
    }
  }

  function sweep(now: number, most: number): void {
    for (let looked = 0; looked < most; looked += 1) {
      const key = windows.popDue(now);
      if (key === null) break;
      counters.delete(key);
    }
    for (let looked = 0; looked < most; looked += 1) {
      const key = leases.popDue(now);
      if (key === null) break;
      liveReservation(key, now);
    }
  }

  function makeRoom(now: number, needed: number): void {
    if (counters.size + reservations.size + needed <= maxEntries) return;
    sweep(now, Number.POSITIVE_INFINITY);
    if (counters.size + reservations.size + needed > maxEntries) throw new CountersFullError(maxEntries);
  }

  return {
    async reserve(call) {
      return reserve(call);
    },
    async peek(call) {
      return peek(call);
    },
    async settle(call) {
      const key = reservationKey(call.organisationId, call.reservationId);
      const reservation = liveReservation(key, clock.now());
      if (reservation === null) return;
      if (settleReservation(reservation, call)) forget(key, reservation);
      else dropIdle(reservation);
    },
    async renew(call) {
      const now = clock.now();
      const lost: string[] = [];
      for (const id of call.reservationIds) {
        const key = reservationKey(call.organisationId, id);
        const reservation = liveReservation(key, now);
        if (reservation === null) lost.push(id);
        else lease(key, reservation, now + call.leaseMs);
      }
      return lost;
    },
    size() {
      return counters.size + reservations.size;
    },
  };
}

function isIdle(counter: Counter): boolean {
  return counter.expiresAt === null && counter.value <= 0;
}

function resultOf(states: readonly Tested[], now: number): ScopeResult {
  let refusedAt: number | null = null;
  let retryAfterMs = 0;
  for (const [index, { fits, expiresAt }] of states.entries()) {
    if (fits) continue;
    const wait = expiresAt === null ? CONCURRENCY_RETRY_MS : expiresAt - now;
    if (refusedAt !== null && wait <= retryAfterMs) continue;
    refusedAt = index;
    retryAfterMs = wait;
  }
  const allowed = refusedAt === null;
  return { allowed, refusedAt, retryAfterMs, remaining: states.map((state) => leftOf(state, allowed)) };
}

function leftOf({ take, counter, expiresAt }: Tested, taken: boolean): Left {
  const left = take.limit - (counter?.value ?? 0) - (taken ? take.amount : 0);
  return { left: Math.max(0, left), resetsAt: expiresAt ?? 0 };
}
