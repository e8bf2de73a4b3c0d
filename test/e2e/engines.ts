import { randomBytes, randomInt } from "node:crypto";
import { Secret } from "@unigate/core";
import { openSql, runSql } from "@unigate/sql";
import { openRedis, type RedisLink, readRedisAddress } from "@unigate/storage";
import { type GatewayMode, gatewayModes, requirement } from "@unigate/testkit";

/** How a suite's gateway runs: both modes with embedded stores, and the mesh over real engines where they are. */
export type Setup = GatewayMode | "mesh-engines";

const [redis, postgres, kafka] = [requirement("redis"), requirement("postgres"), requirement("kafka")];
const ENGINES = redis.available && postgres.available && kafka.available;

/** For suites about what engines keep: limits, the cache, logs, saved things. */
export const setups: readonly Setup[] = ENGINES ? [...gatewayModes, "mesh-engines"] : gatewayModes;

/** Engines of one gateway's own: nobody else's counters, entries or records are in them. */
export interface OwnEngines {
  readonly env: Readonly<Record<string, string>>;
  /** Gives them back, empty. */
  release(): Promise<void>;
}

/** A database in Redis, one in Postgres, and topics in Kafka. */
export async function takeEngines(): Promise<OwnEngines> {
  const name = `unigate_test_${randomBytes(6).toString("hex")}`;
  const counters = await takeRedisDatabase();
  await onPostgres(`create database ${name}`);
  const database = new URL(postgres.at);
  database.pathname = name;
  return {
    env: {
      UNIGATE_REDIS_URL: counters.url,
      UNIGATE_DATABASE_URL: database.href,
      UNIGATE_KAFKA_BROKERS: kafka.at,
      UNIGATE_KAFKA_TOPIC_PREFIX: name,
    },
    async release() {
      await counters.release();
      await onPostgres(`drop database ${name} with (force)`);
    },
  };
}

const TAKEN = "unigate-test:taken";
const TAKEN_MS = 600_000;
const FIRST = 1;
const LAST = 15;

/** A numbered database that no other suite uses now. */
export async function takeRedisDatabase(): Promise<{ readonly url: string; release(): Promise<void> }> {
  const start = randomInt(LAST);
  for (let step = 0; step < LAST; step += 1) {
    const url = new URL(redis.at);
    url.pathname = `/${FIRST + ((start + step) % LAST)}`;
    const link = await openRedis({ address: readRedisAddress(new Secret(url.href)), name: "unigate-test", deadlineMs: 10_000 });
    if (await take(link)) {
      return {
        url: url.href,
        async release() {
          await link.run((client) => client.flushdb());
          link.close();
        },
      };
    }
    link.close();
  }
  throw new Error(`every database of ${redis.at} is in use by other tests`);
}

async function take(link: RedisLink): Promise<boolean> {
  const taken = await link.run((client) => client.set(TAKEN, "1", "PX", TAKEN_MS, "NX"));
  return taken === "OK";
}

async function onPostgres(statement: string): Promise<void> {
  const engine = openSql({ url: new Secret(postgres.at), dataDir: "", onEvent: () => {} });
  try {
    await runSql(await engine.database("control"), statement);
  } finally {
    await engine.close();
  }
}
