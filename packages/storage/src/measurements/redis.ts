import type { Clock } from "@unigate/core";
import { organisationKey } from "../counters/counter-key.ts";
import type { RedisLink } from "../redis/link.ts";
import { MEASURE_LUA } from "./exchange.lua.ts";
import type { Measurements } from "./port.ts";

/** Words that tell of one target. */
const WORDS = 3;

/** Measurements in Redis, shared by all replicas: one script, one round trip a call. `clock` = for tests only. */
export function createRedisMeasurements(link: RedisLink, options: { readonly clock?: Clock } = {}): Measurements {
  const { clock } = options;
  link.defineScript("unigateMeasure", MEASURE_LUA, 1);
  return {
    async exchange({ organisationId, latencies, inFlight, asked }) {
      const prefix = organisationKey(organisationId, "m:");
      const words: (string | number)[] = [prefix, clock === undefined ? "" : clock.now(), prefix, latencies.length];
      for (const { target, count, meanMs } of latencies) words.push(target, count, meanMs);
      words.push(inFlight.length);
      for (const { target, reporter, count, at } of inFlight) words.push(target, reporter, count, at);
      words.push(asked.length, ...asked);
      const told = (await link.callScript("unigateMeasure", words)) as (string | number)[];
      return asked.map((_, index) => {
        const [latency, age, busy] = told.slice(index * WORDS, (index + 1) * WORDS);
        return { latencyMs: latency === "" ? null : Number(latency), ageMs: Number(age), inFlight: Number(busy) };
      });
    },
  };
}
