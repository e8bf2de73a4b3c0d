import type { Measure, SettleCall } from "./port.ts";

/** The amount taken in one window of one limit. `expiresAt` null = concurrency. */
export interface Counter {
  readonly key: string;
  readonly expiresAt: number | null;
  value: number;
}

/** What a reservation holds of a counter. */
export interface Held {
  readonly counter: Counter;
  readonly measure: Measure;
  readonly amount: number;
}

interface Attempt {
  target: readonly Held[];
  /** Its target was refused: nothing of it was taken. */
  refused: boolean;
  settled: boolean;
}

/** An admitted request until it is settled or its lease ends. */
export interface Reservation {
  /** Attempt whose call took the request scope; -1 = none did. */
  requestAttempt: number;
  request: readonly Held[];
  requestRefunded: boolean;
  readonly attempts: Map<number, Attempt>;
  /** The last attempt is settled. */
  closed: boolean;
  expiresAt: number;
}

export function newReservation(): Reservation {
  return { requestAttempt: -1, request: [], requestRefunded: false, attempts: new Map(), closed: false, expiresAt: 0 };
}

/**
 * Corrects the counters by one settlement. The request scope was taken once, with one attempt's estimate; every
 * attempt's real use is added to it, so the order of settlements does not matter. Returns whether the reservation
 * is finished: closed, and every attempt that reserved is settled.
 */
export function settleReservation(reservation: Reservation, call: SettleCall): boolean {
  const attempt = reservation.attempts.get(call.attempt) ?? { target: [], refused: false, settled: false };
  if (!attempt.settled) {
    attempt.settled = true;
    reservation.attempts.set(call.attempt, attempt);
    settleRequestScope(reservation, call);
    for (const held of attempt.target) {
      if (held.counter.expiresAt === null) held.counter.value -= held.amount;
      else held.counter.value += call.refundTarget ? -held.amount : correction(held, call);
    }
    if (call.last) close(reservation);
  }
  return reservation.closed && everyAttemptSettled(reservation);
}

/** Frees what must not outlive the request; the estimates stay charged. */
export function loseReservation(reservation: Reservation): void {
  close(reservation);
  for (const attempt of reservation.attempts.values()) {
    if (!attempt.settled) for (const held of attempt.target) if (held.counter.expiresAt === null) held.counter.value -= held.amount;
  }
}

function settleRequestScope(reservation: Reservation, call: SettleCall): void {
  const own = reservation.requestAttempt === call.attempt;
  const refund = call.refundRequest && !reservation.requestRefunded;
  if (refund) reservation.requestRefunded = true;
  for (const { counter, measure, amount } of reservation.request) {
    if (counter.expiresAt === null) continue;
    if (measure === "requests") counter.value -= refund ? amount : 0;
    else if (call.refundRequest) counter.value -= own ? amount : 0;
    else counter.value += (usedOf(measure, call) ?? (own ? amount : 0)) - (own ? amount : 0);
  }
}

/** Real use less the estimate. */
function correction(held: Held, call: SettleCall): number {
  const used = held.measure === "requests" ? null : usedOf(held.measure, call);
  return used === null ? 0 : used - held.amount;
}

function usedOf(measure: "tokens" | "cost", call: SettleCall): number | null {
  return measure === "tokens" ? call.tokens : call.costMicro;
}

function close(reservation: Reservation): void {
  if (reservation.closed) return;
  reservation.closed = true;
  for (const held of reservation.request) if (held.counter.expiresAt === null) held.counter.value -= held.amount;
}

function everyAttemptSettled(reservation: Reservation): boolean {
  for (const attempt of reservation.attempts.values()) if (!attempt.settled) return false;
  return true;
}
