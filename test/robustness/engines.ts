import { newUuid, Secret } from "@unigate/core";
import { openSql, runSql } from "@unigate/sql";
import { requirement, startRedisServer, startWeatherProxy } from "@unigate/testkit";
import { startKafkaProxy } from "./kafka-proxy.ts";

/** What a suite of a whole gateway may take away from it. */
export interface Engine {
  /** Settings of a gateway that uses it. */
  readonly env: Readonly<Record<string, string>>;
  /** It is gone: connections end and none is taken. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** It takes connections and says nothing. */
  stall(stalled: boolean): void;
  close(): Promise<void>;
}

export type EngineName = "redis" | "postgres" | "kafka";

const needed = { redis: requirement("redis-server"), postgres: requirement("postgres"), kafka: requirement("kafka") };

/** Whether all of these can be had on this machine; what cannot was told. */
export function haveEngines(names: readonly EngineName[]): boolean {
  const isReachable = !needed.kafka.available || /^127\.0\.0\.1:\d+$/.test(needed.kafka.at);
  if (!isReachable && names.includes("kafka")) process.stdout.write("skipped: Kafka must be one broker on 127.0.0.1 here\n");
  return names.every((name) => needed[name].available && (name !== "kafka" || isReachable));
}

/** Starts, or makes a way to, an engine that no other suite sees. */
export function startEngine(name: EngineName): Promise<Engine> {
  return ENGINES[name]();
}

const ENGINES: Readonly<Record<EngineName, () => Promise<Engine>>> = {
  async redis() {
    const server = await startRedisServer(needed.redis.at);
    return {
      env: { UNIGATE_REDIS_URL: server.url },
      stop: server.kill,
      start: server.start,
      stall: (stalled) => (stalled ? server.pause() : server.resume()),
      close: server.close,
    };
  },
  async postgres() {
    const { at } = needed.postgres;
    const database = `unigate_weather_${newUuid().replaceAll("-", "")}`;
    await onServer(at, `create database ${database}`);
    const proxy = await startWeatherProxy(at);
    const url = Object.assign(new URL(at), { host: proxy.address, pathname: `/${database}` });
    return {
      ...proxy,
      env: { UNIGATE_DATABASE_URL: url.href },
      async close() {
        await proxy.close();
        await onServer(at, `drop database if exists ${database} with (force)`);
      },
    };
  },
  async kafka() {
    const proxy = await startKafkaProxy(needed.kafka.at);
    return { ...proxy, env: { UNIGATE_KAFKA_BROKERS: proxy.address, UNIGATE_KAFKA_TOPIC_PREFIX: `weather-${newUuid()}` } };
  },
};

async function onServer(url: string, text: string): Promise<void> {
  const server = openSql({ url: new Secret(url), dataDir: "", onEvent() {} });
  await runSql(await server.database("control"), text);
  await server.close();
}
