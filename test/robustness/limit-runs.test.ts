import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { newUuid, Secret } from "@unigate/core";
import { type Counters, createRedisCounters, openRedis, type RedisLink, readRedisAddress } from "@unigate/storage";
import { type RedisServer, requirement, startRedisServer, startWeatherProxy, until, type WeatherProxy } from "@unigate/testkit";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { pause } from "./pause.ts";
import { type Random, randomOf, seededRuns } from "./seeded.ts";

// Two clients of one limit over a real Redis: one in this process whose way to Redis has weather, the other a process
// of its own that is killed, or a second way. However they end, Redis let through no more than the limit, and lost
// nothing: what it counted is what was passed, and at most what got no answer.

const CHILD = fileURLToPath(new URL("limit-process.mjs", import.meta.url));
const DAY_MS = 86_400_000;
const WEATHERS = ["fair", "stall", "cut", "reset", "stop", "delay", "pause", "kill"] as const;
type Weather = (typeof WEATHERS)[number];
const program = requirement("redis-server");

interface Tally {
  asked: number;
  passed: number;
  /** No answer came: Redis may have counted it, once. */
  unknown: number;
}

describe.skipIf(!program.available)("limits over a Redis that comes and goes", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedisServer(program.at);
  });
  afterAll(() => redis.close());

  seededRuns("clients of a limit that are killed and cut off", { share: 0.3, lanes: 3, timeoutMs: 300_000 }, async (seed) => {
    const random = randomOf(seed);
    const organisationId = `runs-${newUuid()}`;
    const limit = random.between(5, 60);
    const proxies = [await startWeatherProxy(redis.url), await startWeatherProxy(redis.url)];
    const links = await Promise.all(proxies.map((proxy) => linkOver(`redis://${proxy.address}`)));
    const tallies: Tally[] = [];
    const isWithChild = random.next() < 0.3;
    try {
      const work = links.map((link, index) =>
        reserveMany(createRedisCounters(link), organisationId, limit, `${seed}-${index}`, random.between(15, 30)),
      );
      if (isWithChild) work.push(killedChild(redis.url, organisationId, limit, seed, random.between(2, 40)));
      const weather = makeWeather(random.oneOf(WEATHERS), random, proxies[0], redis);
      tallies.push(...(await Promise.all(work)));
      await weather;
      const counted = await countedOf(redis.url, organisationId, limit);
      const passed = sumOf(tallies, "passed");
      const unknown = sumOf(tallies, "unknown");
      expect(passed, "no more than the limit").toBeLessThanOrEqual(limit);
      expect(counted, "all that passed is counted").toBeGreaterThanOrEqual(passed);
      expect(counted, "nothing is counted twice").toBeLessThanOrEqual(passed + unknown);
      expect(sumOf(tallies, "asked")).toBeGreaterThanOrEqual(30);
    } finally {
      for (const link of links) link.close();
      for (const proxy of proxies) await proxy.close();
    }
  });
});

const linkOver = (url: string): Promise<RedisLink> => openRedis({ address: readRedisAddress(new Secret(url)), name: "unigate-test" });

const sumOf = (tallies: readonly Tally[], field: keyof Tally): number => tallies.reduce((sum, tally) => sum + tally[field], 0);

function takeOf(limit: number) {
  return { limitId: "limit", bucket: "", measure: "requests", windowMs: DAY_MS, limit, amount: 1 } as const;
}

async function reserveMany(counters: Counters, organisationId: string, limit: number, name: string, count: number): Promise<Tally> {
  const tally: Tally = { asked: 0, passed: 0, unknown: 0 };
  for (let index = 0; index < count; index++) {
    tally.asked += 1;
    const call = { organisationId, reservationId: `${name}-${index}`, attempt: 0, leaseMs: 60_000, request: [takeOf(limit)], target: null };
    try {
      // Some are asked again, as after a lost answer: under the same id nothing more is taken.
      await counters.reserve(call).catch(() => {});
      const { request } = await counters.reserve(call);
      if (request?.allowed === true) tally.passed += 1;
    } catch {
      tally.unknown += 1;
    }
    await pause(4);
  }
  return tally;
}

async function killedChild(url: string, organisationId: string, limit: number, seed: number, after: number): Promise<Tally> {
  const child = spawn(process.execPath, [CHILD, url, organisationId, String(limit), String(seed)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const tally: Tally = { asked: 0, passed: 0, unknown: 0 };
  let open = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [word] = line.split(" ");
    if (word === "asks") [tally.asked, open] = [tally.asked + 1, 1];
    else open = 0;
    if (word === "passed") tally.passed += 1;
    if (word === "unknown") tally.unknown += 1;
  });
  const ended = once(child, "close");
  await until("the child to ask", () => tally.asked > 0);
  await pause(after);
  child.kill("SIGKILL");
  await ended;
  tally.unknown += open;
  return tally;
}

/** Several runs share the Redis, and it can die once at a time. */
let outage: Promise<void> | null = null;

async function killFor(redis: RedisServer, ms: number): Promise<void> {
  await redis.kill();
  await pause(ms);
  await redis.start();
  outage = null;
}

async function makeWeather(kind: Weather, random: Random, proxy: WeatherProxy | undefined, redis: RedisServer): Promise<void> {
  if (kind === "fair" || proxy === undefined) return;
  await pause(random.between(5, 60));
  const lasts = random.between(5, 150);
  if (kind === "pause") redis.pause();
  else if (kind === "kill") await (outage ??= killFor(redis, lasts));
  else if (kind === "stop") await proxy.stop();
  else if (kind === "stall") proxy.stall(true);
  else if (kind === "delay") proxy.delay(random.between(20, 120));
  else proxy[kind]();
  await pause(lasts);
  if (kind === "stop") await proxy.start();
  redis.resume();
  proxy.stall(false);
  proxy.delay(0);
}

/** What Redis has counted, asked over a connection of its own. */
async function countedOf(url: string, organisationId: string, limit: number): Promise<number> {
  const link = await linkOver(url);
  try {
    const counters = createRedisCounters(link);
    const call = { organisationId, reservationId: newUuid(), attempt: 0, leaseMs: 60_000, target: null };
    const { request } = await until("Redis to answer", () => counters.reserve({ ...call, request: [takeOf(limit + 1_000)] }));
    return limit + 1_000 - (request?.remaining[0]?.left ?? 0) - 1;
  } finally {
    link.close();
  }
}
