import type { Clock } from "@unigate/core";
import type { RedisLink } from "../redis/link.ts";
import { counterKeyParts, organisationKey } from "./counter-key.ts";
import type { Counters, Left, ReserveCall, ReserveResult, ScopeResult, Take } from "./port.ts";
import { RENEW_LUA } from "./renew.lua.ts";
import { RESERVE_LUA } from "./reserve.lua.ts";
import { SETTLE_LUA } from "./settle.lua.ts";

const KEYS = 3;
/** Reservations renewed by one script: Redis does nothing else meanwhile. */
const RENEW_BATCH = 200;

export interface RedisCountersOptions {
  /** Time for tests. Everything else leaves it out: then it is Redis's own, one for all replicas. */
  readonly clock?: Clock;
}

/**
 * Counters in Redis, shared by all replicas: one script, one round trip a call, all keys of an organisation in one slot.
 * Rejects with StoreLostError: then the call may still have been done, and may be repeated.
 */
export function createRedisCounters(link: RedisLink, options: RedisCountersOptions = {}): Counters {
  const { clock } = options;
  link.defineScript("unigateReserve", RESERVE_LUA, KEYS);
  link.defineScript("unigateSettle", SETTLE_LUA, KEYS);
  link.defineScript("unigateRenew", RENEW_LUA, KEYS);
  const time = (): number | string => (clock === undefined ? "" : clock.now());

  async function reserve(call: ReserveCall): Promise<ReserveResult> {
    const { organisationId, request, target } = call;
    if ((request?.length ?? 0) + (target?.length ?? 0) === 0) return { request: request && NOTHING, target: target && NOTHING };
    const words = [...keysOf(organisationId), time(), call.reservationId, call.attempt, call.leaseMs];
    words.push(request?.length ?? -1, target?.length ?? -1);
    for (const take of request ?? []) pushTake(words, organisationId, take);
    for (const take of target ?? []) pushTake(words, organisationId, take);
    return resultOf((await link.callScript("unigateReserve", words)) as number[], request, target);
  }

  return {
    reserve,
    peek: (call) => reserve({ ...call, ...NO_RESERVATION }),
    async settle(call) {
      const { organisationId, reservationId, attempt, tokens, costMicro } = call;
      const words = [...keysOf(organisationId), time(), reservationId, attempt, tokens === null ? "" : Math.round(tokens)];
      words.push(costMicro === null ? "" : Math.round(costMicro), flag(call.refundRequest), flag(call.refundTarget), flag(call.last));
      await link.callScript("unigateSettle", words);
    },
    async renew(call) {
      const lost: string[] = [];
      for (let from = 0; from < call.reservationIds.length; from += RENEW_BATCH) {
        const ids = call.reservationIds.slice(from, from + RENEW_BATCH);
        lost.push(...((await link.callScript("unigateRenew", [...keysOf(call.organisationId), time(), call.leaseMs, ...ids])) as string[]));
      }
      return lost;
    },
  };
}

/** The script takes this for a look. */
const NO_RESERVATION = { reservationId: "", attempt: 0, leaseMs: 0 };

const NOTHING: ScopeResult = { allowed: true, refusedAt: null, retryAfterMs: 0, remaining: [] };

function keysOf(organisationId: string): (string | number)[] {
  return [organisationKey(organisationId, "l"), organisationKey(organisationId, "r"), organisationKey(organisationId, "s")];
}

function pushTake(words: (string | number)[], organisationId: string, take: Take): void {
  const { before, after } = counterKeyParts(organisationId, take.limitId, take.bucket);
  words.push(take.measure, before, after, take.windowMs ?? 0, take.limit, Math.round(take.amount));
}

function flag(value: boolean): string {
  return value ? "1" : "0";
}

function resultOf(reply: readonly number[], request: readonly Take[] | null, target: readonly Take[] | null): ReserveResult {
  const requestResult = scopeResult(reply, 0, request?.length ?? 0);
  const targetResult = scopeResult(reply, requestResult === null ? 1 : 3 + 2 * requestResult.remaining.length, target?.length ?? 0);
  return { request: requestResult, target: targetResult };
}

/** The scope that the reply tells of from `at` on. */
function scopeResult(reply: readonly number[], at: number, takes: number): ScopeResult | null {
  const state = reply[at] ?? -1;
  if (state < 0) return null;
  const refusedAt = reply[at + 1] ?? -1;
  const remaining: Left[] = [];
  for (let index = 0; index < takes; index += 1) {
    remaining.push({ left: reply[at + 3 + 2 * index] ?? 0, resetsAt: reply[at + 4 + 2 * index] ?? 0 });
  }
  return { allowed: state === 1, refusedAt: refusedAt < 0 ? null : refusedAt, retryAfterMs: reply[at + 2] ?? 0, remaining };
}
