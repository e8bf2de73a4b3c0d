import { randomUUID } from "node:crypto";
import { type Clock, Secret } from "@unigate/core";
import { requirement } from "@unigate/testkit";
import { readRedisAddress } from "./redis/address.ts";
import { openRedis, type RedisLink } from "./redis/link.ts";

/** One way to keep the state of a port. `runs` = of a property. */
export interface StoreEngine<Port> {
  readonly name: string;
  readonly available: boolean;
  readonly runs: number;
  open(): Promise<void>;
  create(clock: Clock): Port;
  close(): void;
}

/** How a port is made. `rename` makes the organisations of a call the test's own: what others left there counts for none of it. */
export interface PortMaker<Port> {
  inMemory(clock: Clock): Port;
  inRedis(link: RedisLink, clock: Clock, rename: <Call extends { organisationId: string }>(call: Call) => Call): Port;
}

/** Memory, Redis and a Redis cluster: each port has one suite over all of them. */
export function storeEngines<Port>(maker: PortMaker<Port>): readonly StoreEngine<Port>[] {
  const memory = { name: "memory", available: true, runs: 100, open: async () => {}, create: maker.inMemory, close: () => {} };
  return [memory, redisEngine("redis", maker), redisEngine("redis-cluster", maker)];
}

function redisEngine<Port>(name: "redis" | "redis-cluster", maker: PortMaker<Port>): StoreEngine<Port> {
  const needed = requirement(name);
  let link: RedisLink | null = null;
  return {
    name,
    available: needed.available,
    runs: 25,
    async open() {
      link = await openRedis({ address: readRedisAddress(new Secret(needed.at)), name: "unigate-test", deadlineMs: 10_000 });
    },
    create(clock) {
      if (link === null) throw new Error("not connected");
      const prefix = `${randomUUID()}-`;
      return maker.inRedis(link, clock, (call) => ({ ...call, organisationId: prefix + call.organisationId }));
    },
    close: () => link?.close(),
  };
}
