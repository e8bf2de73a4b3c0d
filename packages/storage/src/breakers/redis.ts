import type { Clock } from "@unigate/core";
import { organisationKey } from "../counters/counter-key.ts";
import type { RedisLink } from "../redis/link.ts";
import { EXCHANGE_LUA } from "./exchange.lua.ts";
import type { BreakerDelta, Breakers, ChangedBreaker, Probe } from "./port.ts";

const KEYS = 2;
/** Words that tell of one change. */
const WORDS = 5;

export interface RedisBreakersOptions {
  /** Time for tests. Everything else leaves it out: then it is Redis's own, one for all replicas. */
  readonly clock?: Clock;
}

/** Breakers in Redis, shared by all replicas: one script, one round trip a call, all keys of an organisation in one slot. */
export function createRedisBreakers(link: RedisLink, options: RedisBreakersOptions = {}): Breakers {
  const { clock } = options;
  link.defineScript("unigateBreakers", EXCHANGE_LUA, KEYS);
  return {
    async exchange({ organisationId, since, deltas, wanted, begun }) {
      const key = (rest: string): string => organisationKey(organisationId, rest);
      const words: (string | number)[] = [key("b:z"), key("b:n"), clock === undefined ? "" : clock.now()];
      words.push(key("b:s:"), key("b:p:"), since, deltas.length);
      for (const delta of deltas) pushDelta(words, delta);
      pushProbes(words, wanted);
      pushProbes(words, begun);
      const reply = (await link.callScript("unigateBreakers", words)) as [string, string[], (string | number)[]];
      return { version: Number(reply[0]), granted: reply[1], changed: changesOf(reply[2]) };
    },
  };
}

function pushDelta(words: (string | number)[], { target, rule, counts, probe }: BreakerDelta): void {
  words.push(target, rule.failureThreshold ?? "", rule.failurePercentage ?? "", rule.minimumRequests, rule.cooldownMs);
  words.push(counts.successesBefore, counts.failures, counts.successesAfter, probe?.token ?? "", probe?.outcome ?? "");
}

function pushProbes(words: (string | number)[], probes: readonly Probe[]): void {
  words.push(probes.length);
  for (const { target, token } of probes) words.push(target, token);
}

function changesOf(words: readonly (string | number)[]): ChangedBreaker[] {
  const changed: ChangedBreaker[] = [];
  for (let at = 0; at < words.length; at += WORDS) {
    const [target, failures, successes, countedForMs, openForMs] = words.slice(at, at + WORDS);
    changed.push({
      target: String(target),
      failures: Number(failures),
      successes: Number(successes),
      countedForMs: Number(countedForMs),
      openForMs: Number(openForMs) < 0 ? null : Number(openForMs),
    });
  }
  return changed;
}
