// The cases, as data. All but `provider named` go through a saved config; the gateway key is looked up and every request logged.
import { newBody, sameBody } from "./bodies.mjs";

/**
 * - `count` requests a round and `warmUp` before the first, over `connections`; `rate` a second in the part that measures latency
 * - `key` and `config`: those of `gateway-config.mjs`; a config of null names the provider in a header
 * - `cacheStatus`: what every answer of the gateway must say of the cache
 * - `goals`: largest ratio to the minimal proxy, by subject
 * - `isOwn`: uses what only the gateway has, so that the peer is left out
 * - `isLong`: not in the default run, which is made for two minutes on two cores
 */
const usual = { count: 2_500, warmUp: 3_000, connections: 16, rate: 200, stream: false, key: "plain", config: "pc-bench" };

export const cases = [
  {
    ...usual,
    name: "unary",
    about: "a request of 600 bytes, an answer of 740",
    body: sameBody(),
    goals: { one: 2, mesh: 8 },
  },
  {
    ...usual,
    name: "stream",
    about: "an answer of 50 chunks",
    count: 500,
    warmUp: 1_500,
    rate: 100,
    stream: true,
    body: sameBody({ stream: true }),
    goals: { one: 2, mesh: 4 },
  },
  {
    ...usual,
    name: "nested",
    about:
      "unary through a saved config of 50 targets, conditions over load balancing over fallback; the plan may cost at most 0.6 of the minimal proxy more than unary does",
    config: "pc-nested",
    body: sameBody(),
    isOwn: true,
    isLong: true,
  },
  {
    ...usual,
    name: "limit-cache",
    about: "a key with a limit of requests, a cache that misses: counted, looked up, stored",
    count: 800,
    rate: 100,
    key: "limited",
    config: "pc-cached",
    body: newBody(),
    cacheStatus: "MISS",
    goals: { one: 2.5, mesh: 14 },
    isOwn: true,
  },
  {
    ...usual,
    name: "guardrail",
    about: "limit-cache and a check of words before and after",
    count: 800,
    rate: 100,
    key: "limited",
    config: "pc-guarded",
    body: newBody(),
    cacheStatus: "MISS",
    isOwn: true,
    isLong: true,
  },
  {
    ...usual,
    name: "cache-hit",
    about: "the same body again, answered by the cache",
    config: "pc-cached",
    body: sameBody(),
    cacheStatus: "HIT",
    isOwn: true,
    isLong: true,
  },
  {
    ...usual,
    name: "provider-named",
    about: "unary without a saved config: the provider in a header",
    config: null,
    body: sameBody(),
    isLong: true,
  },
  {
    ...usual,
    name: "unary-256",
    about: "unary over 256 connections",
    connections: 256,
    body: sameBody(),
    isLong: true,
  },
  {
    ...usual,
    name: "stream-256",
    about: "stream over 256 connections",
    count: 768,
    warmUp: 1_536,
    connections: 256,
    rate: 100,
    stream: true,
    body: sameBody({ stream: true }),
    isLong: true,
  },
  {
    ...usual,
    name: "body-20k",
    about: "unary with a body of 20 KB",
    count: 1_500,
    body: sameBody({ bytes: 20_000 }),
    isLong: true,
  },
  {
    ...usual,
    name: "body-1m",
    about: "unary with a body of 1 MB",
    count: 100,
    warmUp: 200,
    rate: 10,
    body: sameBody({ bytes: 1_000_000 }),
    isLong: true,
  },
];
