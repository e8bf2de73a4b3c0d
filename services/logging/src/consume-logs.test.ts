import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { backgroundCall, boundCall, newUuid } from "@unigate/core";
import { encodeRecord, newHead } from "@unigate/events";
import { type KafkaConnection, kafkaDelivery, type RunningConsumer } from "@unigate/kafka";
import { requirement, until } from "@unigate/testkit";
import { afterEach, describe, expect, test } from "vitest";
import type { BatchOutcome } from "./append.ts";
import { consumeLogs } from "./consume-logs.ts";
import type { LogStore } from "./log-store.ts";
import { createLogStore, type MemoryLogStore } from "./memory/memory-log-store.ts";

const kafka = requirement("kafka");
const log = { debug() {}, info() {}, warn() {}, error() {} };
/** Shorter than what other users of the broker would notice. */
const STILL_MS = 2_500;
const TENANT = { organisationId: "org", workspaceId: "" };

let cleanUp: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of cleanUp.toReversed()) await end();
  cleanUp = [];
});

interface Pipe {
  readonly connection: KafkaConnection;
  deliver(records: readonly Buffer[], ms?: number): Promise<boolean>;
}

function open(): Pipe {
  const connection = { brokers: kafka.at.split(","), tls: false, sasl: null, topicPrefix: `test-${newUuid()}` };
  const delivery = kafkaDelivery({ connection, log });
  cleanUp.push(delivery.close);
  return {
    connection,
    async deliver(records, ms = 15_000) {
      const { call, done } = boundCall(backgroundCall(), ms);
      try {
        return await delivery.deliver({ spoolId: "edge-1", offset: records.length, records: [...records] }, call);
      } finally {
        done();
      }
    },
  };
}

async function consume(
  connection: KafkaConnection,
  store: LogStore,
  onBatch: (outcome: BatchOutcome) => void = () => {},
): Promise<RunningConsumer> {
  const consumer = await consumeLogs({ connection, store, log, onBatch });
  cleanUp.push(consumer.stop);
  return consumer;
}

function record(id: string, body: string | null = `body of ${id}`): Buffer {
  const head = { ...newHead(id, Date.now()), trace_id: `trace-${id}`, organisation_id: "org", workspace_id: "ws" };
  const request = body === null ? null : { headers: {}, body: Buffer.from(JSON.stringify(body)), json: true, truncated: false };
  return encodeRecord({ head, request, response: null });
}

function some(count: number): { ids: string[]; records: () => Buffer[] } {
  const ids = Array.from({ length: count }, () => newUuid());
  return { ids: ids.toSorted(), records: () => ids.map((id) => record(id)) };
}

const idsIn = (store: MemoryLogStore): string[] =>
  store
    .all()
    .map(({ id }) => id)
    .toSorted();

async function bodyIn(store: LogStore, id: string): Promise<unknown> {
  const found = await store.get(TENANT, id);
  return (JSON.parse(found?.bytes.toString("utf8") ?? "{}") as { request?: { body: unknown } | null }).request?.body;
}

async function haveBodies(store: LogStore, ids: readonly string[]): Promise<boolean> {
  for (const id of ids) if ((await bodyIn(store, id)) !== `body of ${id}`) return false;
  return true;
}

/** The process on this machine that listens where the broker is; null when it is elsewhere. */
function brokerProcess(): number | null {
  const port = Number(kafka.at.split(",")[0]?.split(":").at(-1));
  const hex = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  try {
    const sockets = ["tcp", "tcp6"].flatMap((kind) =>
      readFileSync(`/proc/net/${kind}`, "utf8")
        .split("\n")
        .map((line) => line.trim().split(/\s+/)),
    );
    const inode = sockets.find(([, local, , state]) => (local ?? "").endsWith(hex) && state === "0A")?.[9];
    const owns = (process: string) => descriptors(process).includes(`socket:[${inode}]`);
    const found = inode === undefined ? undefined : readdirSync("/proc").find((name) => /^\d+$/.test(name) && owns(name));
    return found === undefined ? null : Number(found);
  } catch {
    return null;
  }
}

function descriptors(process: string): string[] {
  try {
    return readdirSync(`/proc/${process}/fd`).map((name) => readlinkSync(`/proc/${process}/fd/${name}`));
  } catch {
    return [];
  }
}

const broker = kafka.available ? brokerProcess() : null;

describe.skipIf(!kafka.available)("logs over Kafka", () => {
  test("come with their bodies, once each, and once when they are delivered twice", async () => {
    const { connection, deliver } = open();
    const store = createLogStore();
    const { ids, records } = some(60);
    expect(await deliver(records())).toBe(true);
    let duplicates = 0;
    const consumer = await consume(connection, store, (outcome) => (duplicates += outcome.duplicates));
    await until("all records", () => idsIn(store).length === 60, 20_000);
    const bare = newUuid();
    expect(await deliver([...records(), record(bare, null)])).toBe(true);
    await until("the second delivery", async () => duplicates === 60 && (await store.get(TENANT, bare)) !== null, 20_000);
    await until("all bodies", () => haveBodies(store, ids));
    expect(idsIn(store)).toEqual([...ids, bare].toSorted());
    expect(JSON.parse((await store.get(TENANT, bare))?.bytes.toString("utf8") ?? "")).toMatchObject({ request: null, response: null });
    await consumer.stop();
    // Another member goes on where this one ended: nothing comes again.
    let again = 0;
    const next = await consume(connection, store, (outcome) => (again += outcome.duplicates));
    await until("its partitions", () => next.partitions() === 12, 20_000);
    const last = newUuid();
    expect(await deliver([record(last)])).toBe(true);
    await until("the last record", async () => (await store.get(TENANT, last)) !== null);
    expect(again).toBe(0);
  });

  test("wait while the store is away, and then come all", async () => {
    const { connection, deliver } = open();
    const store = createLogStore();
    let [isAway, tries] = [true, 0];
    const away =
      <A extends unknown[], R>(work: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> => {
        tries += 1;
        if (isAway) throw new Error("no database");
        return work(...given);
      };
    await consume(connection, { ...store, add: away(store.add), addBodies: away(store.addBodies) });
    const { ids, records } = some(40);
    expect(await deliver(records())).toBe(true);
    await until("several tries", () => tries > 14, 20_000);
    expect(idsIn(store)).toEqual([]);
    isAway = false;
    await until("all records", async () => idsIn(store).length === 40 && (await haveBodies(store, ids)), 20_000);
    expect(idsIn(store)).toEqual(ids);
  });

  test("are read no faster than the store takes them", async () => {
    const { connection, deliver } = open();
    const store = createLogStore();
    let [running, most] = [0, 0];
    const waiting: (() => void)[] = [];
    let isOpen = false;
    const slow =
      <A, R>(work: (given: A) => Promise<R>) =>
      async (given: A): Promise<R> => {
        running += 1;
        most = Math.max(most, running);
        if (!isOpen) await new Promise<void>((resolve) => void waiting.push(resolve));
        running -= 1;
        return work(given);
      };
    await consume(connection, { ...store, add: slow(store.add), addBodies: slow(store.addBodies) });
    const { ids, records } = some(200);
    expect(await deliver(records())).toBe(true);
    await until("the first calls", () => waiting.length === 2, 20_000);
    expect(await deliver(some(20).records())).toBe(true);
    expect(waiting.length).toBe(2);
    isOpen = true;
    for (const resolve of waiting) resolve();
    await until("all records", async () => idsIn(store).length === 220 && (await haveBodies(store, ids)), 20_000);
    expect(most).toBe(2);
  });

  test("are shared by two members that come and go, without loss", async () => {
    const { connection, deliver } = open();
    const store = createLogStore();
    const first = await consume(connection, store);
    const batches = [some(100), some(100), some(100)] as const;
    expect(await deliver(batches[0].records())).toBe(true);
    const second = await consume(connection, store);
    expect(await deliver(batches[1].records())).toBe(true);
    await until("both to have partitions", () => first.partitions() === 6 && second.partitions() === 6, 30_000);
    await first.stop();
    expect(await deliver(batches[2].records())).toBe(true);
    const ids = batches.flatMap((batch) => batch.ids).toSorted();
    await until("all records", async () => idsIn(store).length === 300 && (await haveBodies(store, ids)), 30_000);
    expect(idsIn(store)).toEqual(ids);
    await until("one to have all", () => second.partitions() === 12, 30_000);
  }, 90_000);

  test.skipIf(broker === null)(
    "a broker that stands still: deliveries fail in time, and nothing is lost",
    async () => {
      const { connection, deliver } = open();
      const store = createLogStore();
      await consume(connection, store);
      const [before, during] = [some(20), some(20)];
      expect(await deliver(before.records())).toBe(true);
      await until("the first records", () => idsIn(store).length === 20, 20_000);
      process.kill(broker ?? 0, "SIGSTOP");
      try {
        const begun = performance.now();
        expect(await deliver(during.records(), STILL_MS)).toBe(false);
        expect(performance.now() - begun).toBeLessThan(STILL_MS + 1_000);
      } finally {
        process.kill(broker ?? 0, "SIGCONT");
      }
      // As they come from a disk: bytes that this process did not make.
      const again = during.records().map((bytes) => Buffer.from(bytes));
      await until("the delivery again", () => deliver(again), 30_000);
      const ids = [...before.ids, ...during.ids].toSorted();
      await until("all records", async () => idsIn(store).length === 40 && (await haveBodies(store, ids)), 30_000);
      expect(idsIn(store)).toEqual(ids);
    },
    90_000,
  );
});
