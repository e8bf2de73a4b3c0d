import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newUuid } from "@unigate/core";
import { type Gateway, removeFolder, requirement, startGateway, startUpstream, type Upstream, until } from "@unigate/testkit";
import { Kafka, logLevel } from "kafkajs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { chat, send, target, withConfig } from "../e2e/http.ts";
import { logsOf } from "../e2e/logs.ts";
import { declaredKey } from "../e2e/stage.ts";
import { answerLoad } from "./load.ts";

// What a whole gateway does about a world that gives it nonsense. Beside these, at the part that meets it:
// a full, a read-only and a vanished disk: packages/spool/src/disk.test.ts; torn and damaged segments:
// packages/spool/src/recover.test.ts; two owners of a data folder: services/unigate/src/data-dir.test.ts; a topic that
// may not be made, a message that is too large, messages of no use: packages/kafka/src/kafka.test.ts.

const kafka = requirement("kafka");
const plain = declaredKey("plain");
const ends: (() => Promise<void> | void)[] = [];
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
afterAll(() => upstream.close());

async function start(env: Record<string, string>): Promise<Gateway> {
  answerLoad(upstream);
  const gateway = await startGateway({ mode: "single", env, config: { version: 1, keys: [plain] } });
  ends.push(() => gateway.stop());
  return gateway;
}

const ask = (gateway: Gateway, trace: string, body: object = {}) =>
  chat(gateway, plain.key, { ...withConfig(target(`${upstream.origin}/first`)), "x-gateway-trace-id": trace }, body);

/** The process log comes through a pipe, after the answer. */
const said = (gateway: Gateway, text: string): Promise<true> => until(`"${text}" to be said`, () => gateway.output().includes(text));

async function metric(gateway: Gateway, name: string): Promise<number> {
  const { text } = await send(gateway, "/metrics");
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

describe.skipIf(!requirement("long").available)("a data folder that is not as it should be", () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), "unigate-bad-"));
    ends.push(() => removeFolder(path));
    return path;
  }

  test("a damaged spool: what can be read of it is delivered, the rest is said, and requests go on", async () => {
    const data = folder();
    const dead = join(data, "spool", "edge-dead");
    mkdirSync(dead, { recursive: true });
    writeFileSync(join(dead, "owner"), JSON.stringify({ machine: "x", pid: 1, socket: false, closed: true }));
    writeFileSync(join(dead, "00000001.segment"), "UGSPOOL1 and then nonsense that is no frame at all");
    writeFileSync(join(dead, "00000002.segment"), Buffer.alloc(5_000, 255));
    writeFileSync(join(dead, "position"), "{");
    writeFileSync(join(data, "spool", "a-file-of-somebody"), "x");
    const gateway = await start({ UNIGATE_DATA_DIR: data });
    expect((await ask(gateway, "beside-damage")).status).toBe(200);
    await logsOf(gateway, plain.key, "beside-damage", 1);
    await until("it to be said", () => /took over a folder of the log spool/.test(gateway.output()));
    expect(gateway.output()).toMatch(/"torn":1.*"damaged":1|"damaged":1.*"torn":1/);
    await until("the folder to be gone", () => !readdirSync(join(data, "spool")).includes("edge-dead"));
    expect(readdirSync(join(data, "spool"))).toContain("a-file-of-somebody");
  });

  test("a file where the spool should be: records are delivered from memory", async () => {
    const data = folder();
    writeFileSync(join(data, "spool"), "in the way");
    const gateway = await start({ UNIGATE_DATA_DIR: data });
    expect((await ask(gateway, "no-folder")).status).toBe(200);
    await logsOf(gateway, plain.key, "no-folder", 1);
    await until("the metric", async () => (await metric(gateway, "unigate_spool_failing")) === 1);
    expect(await metric(gateway, "unigate_log_records_dropped_total")).toBe(0);
    await said(gateway, "the log spool cannot write to its folder");
  });

  test("two gateways on one data folder: the second does not start, and says who is there", async () => {
    const data = folder();
    const gateway = await start({ UNIGATE_DATA_DIR: data });
    await expect(start({ UNIGATE_DATA_DIR: data })).rejects.toThrow(new RegExp(`in use by process ${gateway.pid("edge")}`));
    expect((await ask(gateway, "still-there")).status).toBe(200);
  });
});

describe.skipIf(!kafka.available)("a Kafka that refuses", () => {
  const client = new Kafka({ brokers: kafka.at.split(","), logLevel: logLevel.NOTHING });
  const admin = client.admin();
  beforeAll(() => admin.connect());
  afterAll(() => admin.disconnect());

  function prefix(): string {
    const name = `bad-${newUuid()}`;
    ends.push(async () => {
      const mine = (await admin.listTopics()).filter((topic) => topic.startsWith(name));
      if (mine.length > 0) await admin.deleteTopics({ topics: mine });
    });
    return name;
  }
  const over = (topics: string) => ({ UNIGATE_KAFKA_BROKERS: kafka.at, UNIGATE_KAFKA_TOPIC_PREFIX: topics });

  test("a record of an unknown schema version goes to the dead topic, is counted, and stops nobody", async () => {
    const topics = prefix();
    const gateway = await start(over(topics));
    expect((await ask(gateway, "before-poison")).status).toBe(200);
    await logsOf(gateway, plain.key, "before-poison", 1);
    const producer = client.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    await producer.send({ topic: `${topics}.logs.v1`, messages: [{ key: "k", value: JSON.stringify({ schema_version: 9, id: "new" }) }] });
    await producer.disconnect();
    await until("it to be counted", async () => (await metric(gateway, "unigate_log_records_refused_total")) === 1, 20_000);
    await until("the dead topic to have it", async () => {
      const offsets = await admin.fetchTopicOffsets(`${topics}.dead.v1`);
      return offsets.reduce((sum, { offset }) => sum + Number(offset), 0) === 1;
    });
    expect((await ask(gateway, "after-poison")).status).toBe(200);
    await logsOf(gateway, plain.key, "after-poison", 1);
  });

  test("a topic whose messages must be small: what is too large goes to the dead topic alone, counted and said; its head is kept", async () => {
    const topics = prefix();
    const small = [{ name: "max.message.bytes", value: "20000" }];
    await admin.createTopics({ topics: [{ topic: `${topics}.bodies.v1`, numPartitions: 1, configEntries: small }] });
    const gateway = await start(over(topics));
    const large = { messages: [{ role: "user", content: "x".repeat(60_000), name: "too-large" }] };
    expect((await ask(gateway, "too-large", large)).status).toBe(200);
    await until("it to be counted", async () => (await metric(gateway, "unigate_kafka_messages_refused_total")) === 1, 20_000);
    await said(gateway, "a message is too large for its topic; the dead topic gets it");
    const [record] = await logsOf(gateway, plain.key, "too-large", 1);
    expect(record).toMatchObject({ status: 200, outcome: "success" });
    expect((await ask(gateway, "small-again")).status).toBe(200);
    await logsOf(gateway, plain.key, "small-again", 1);
  });

  test("topics that vanish while they are used are made again, and what was spooled meanwhile comes", async () => {
    const topics = prefix();
    const gateway = await start(over(topics));
    expect((await ask(gateway, "before-it-vanished")).status).toBe(200);
    await logsOf(gateway, plain.key, "before-it-vanished", 1);
    await admin.deleteTopics({ topics: ["logs", "bodies", "dead"].map((kind) => `${topics}.${kind}.v1`) });
    expect((await ask(gateway, "after-it-vanished")).status).toBe(200);
    await until("the record", async () => (await logsOf(gateway, plain.key, "after-it-vanished", 1)).length === 1, 45_000);
    expect(await metric(gateway, "unigate_log_records_dropped_total")).toBe(0);
  });

  test("a login that it does not take: records wait in the spool and the reason is said, requests go on", async () => {
    const gateway = await start({ ...over(prefix()), UNIGATE_KAFKA_SASL_USERNAME: "nobody", UNIGATE_KAFKA_SASL_PASSWORD: "hush-hush" });
    expect((await ask(gateway, "not-let-in")).status).toBe(200);
    await until("it to be said", () => /Kafka does not take messages|cannot be sent to Kafka/.test(gateway.output()), 20_000);
    expect(await metric(gateway, "unigate_spool_records")).toBe(1);
    expect(await metric(gateway, "unigate_log_records_dropped_total")).toBe(0);
    expect(gateway.output()).not.toContain("hush-hush");
  });
});
