import type { ReserveCall, SettleCall, Take } from "./port.ts";

export const MINUTE = 60_000;
export const START = Date.parse("2026-03-04T05:06:07.890Z");

export function manualClock(): { now(): number; advance(ms: number): void } {
  let time = START;
  return {
    now: () => time,
    advance(ms) {
      time += ms;
    },
  };
}

export function take(over: Partial<Take> = {}): Take {
  return { limitId: "rpm", bucket: "", measure: "requests", windowMs: MINUTE, limit: 3, amount: 1, ...over };
}

export function reserving(reservationId: string, over: Partial<ReserveCall> = {}): ReserveCall {
  return { organisationId: "org-a", reservationId, attempt: 0, leaseMs: MINUTE, request: [take()], target: null, ...over };
}

export function settling(reservationId: string, over: Partial<SettleCall> = {}): SettleCall {
  return {
    organisationId: "org-a",
    reservationId,
    attempt: 0,
    tokens: null,
    costMicro: null,
    refundRequest: false,
    refundTarget: false,
    last: true,
    ...over,
  };
}
