import { ExportTraceServiceRequest, SpanKind } from "@unigate/contracts";
import { backgroundCall, boundCall, newUuid } from "@unigate/core";
import { encodeRecord, newHead } from "@unigate/events";
import { requirement, until } from "@unigate/testkit";
import { type Admin, Kafka, type KafkaMessage, logLevel } from "kafkajs";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { KafkaConnection } from "./connection.ts";
import { startConsumer } from "./consumer.ts";
import { kafkaDelivery } from "./kafka-delivery.ts";
import type { KafkaLog } from "./log.ts";
import { readLogMessage } from "./read-message.ts";
import { topicsOf } from "./topics.ts";

const kafka = requirement("kafka");

let cleanUp: (() => Promise<void>)[] = [];
let lines: string[] = [];
const note =
  (level: string) =>
  (fields: object, text: string): void =>
    void lines.push(`${level} ${text} ${JSON.stringify(fields)}`);
const log: KafkaLog = { debug() {}, info: note("info"), warn: note("warn"), error: note("error") };

afterEach(async () => {
  for (const end of cleanUp.toReversed()) await end();
  cleanUp = [];
  lines = [];
});

function connect(brokers = kafka.at.split(","), topicPrefix = `test-${newUuid()}`): KafkaConnection {
  return { brokers, tls: false, sasl: null, topicPrefix };
}

function open(connection: KafkaConnection, onRefused: (fate: string) => void = () => {}) {
  const delivery = kafkaDelivery({ connection, log, onRefused });
  cleanUp.push(delivery.close);
  return async (records: Buffer[], ms = 15_000): Promise<boolean> => {
    const { call, done } = boundCall(backgroundCall(), ms);
    try {
      return await delivery.deliver({ spoolId: "edge-1", offset: records.length, records }, call);
    } finally {
      done();
    }
  };
}

function record(id = newUuid(), body: string | null = null, traceId = id): Buffer {
  const head = { ...newHead(id, Date.now()), trace_id: traceId, organisation_id: "org" };
  const request = body === null ? null : { headers: {}, body: Buffer.from(JSON.stringify(body)), json: true, truncated: false };
  return encodeRecord({ head, request, response: null });
}

describe("brokers that are not there", () => {
  test("give false in time, are told once, and can be closed", async () => {
    const deliver = open(connect(["127.0.0.1:1"]));
    expect(await deliver([record()])).toBe(false);
    expect(await deliver([record()])).toBe(false);
    expect(lines.filter((line) => line.startsWith("warn"))).toEqual([expect.stringContaining("Kafka does not take messages")]);
  });

  test("a deadline ends the wait", async () => {
    const deliver = open(connect(["127.0.0.1:1"]));
    const begun = performance.now();
    expect(await deliver([record()], 20)).toBe(false);
    expect(performance.now() - begun).toBeLessThan(1_000);
  });

  test("a consumer is told once and can be stopped", async () => {
    const consumer = startConsumer({ connection: connect(["127.0.0.1:1"]), log, store: async () => [] });
    await until("a warning", () => lines.some((line) => line.includes("cannot be read from Kafka now")));
    await consumer.stop();
    expect(consumer.partitions()).toBe(0);
  });
});

describe.skipIf(!kafka.available)("over Kafka", () => {
  let client: Kafka;
  let admin: Admin;

  beforeAll(async () => {
    client = new Kafka({ brokers: kafka.at.split(","), logLevel: logLevel.NOTHING });
    admin = client.admin();
    await admin.connect();
  });
  afterAll(async () => {
    await admin?.disconnect();
  });

  /** A connection whose topics go with the test. */
  function fresh(): KafkaConnection {
    const connection = connect();
    cleanUp.push(async () => {
      const names = Object.values(topicsOf(connection.topicPrefix));
      await admin.deleteTopics({ topics: (await admin.listTopics()).filter((topic) => names.includes(topic)) });
    });
    return connection;
  }

  async function read(topic: string): Promise<KafkaMessage[]> {
    const messages: KafkaMessage[] = [];
    const consumer = client.consumer({ groupId: newUuid(), maxWaitTimeInMs: 100 });
    cleanUp.push(() => consumer.disconnect());
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => void messages.push(message) });
    return messages;
  }

  test("makes the topics, and sends heads and bodies keyed by trace as CloudEvents", async () => {
    const connection = fresh();
    const deliver = open(connection);
    const [id, other] = [newUuid(), newUuid()];
    expect(await deliver([record(id, "hello", "trace-1"), record(other)])).toBe(true);
    const topics = topicsOf(connection.topicPrefix);
    const { topics: found } = await admin.fetchTopicMetadata({ topics: Object.values(topics) });
    const sizes = Object.fromEntries(found.map(({ name, partitions }) => [name, partitions.length]));
    expect(sizes).toEqual({ [topics.logs]: 6, [topics.bodies]: 6, [topics.traces]: 6, [topics.dead]: 1 });
    const [logs, bodies] = [await read(topics.logs), await read(topics.bodies)];
    await until("all messages", () => logs.length === 2 && bodies.length === 1);
    const headers = (message: KafkaMessage | undefined) =>
      Object.fromEntries(Object.entries(message?.headers ?? {}).map(([k, v]) => [k, String(v)]));
    const log1 = logs.find(({ key }) => String(key) === "trace-1");
    expect(headers(log1)).toMatchObject({ ce_id: id, ce_specversion: "1.0", "content-type": "application/json" });
    expect(log1?.value?.toString()).not.toContain("hello");
    expect(String(bodies[0]?.key)).toBe("trace-1");
    expect(JSON.parse(String(bodies[0]?.value))).toMatchObject({ id, trace_id: "trace-1", request: { body: "hello" }, response: null });
    expect(String(logs.find((one) => one !== log1)?.key)).toBe(other);
  });

  test("spans of sampled records are OTLP, the same when a record is sent again", async () => {
    const connection = fresh();
    const topics = topicsOf(connection.topicPrefix);
    const deliver = open(connection);
    const [trace_id, span_id, parent_span_id] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "0123456789abcdef"];
    const of = (attempt: number, more: object): Buffer => {
      const head = { ...newHead(newUuid(), Date.now()), trace_id, span_id, parent_span_id, provider: "openai", model: "gpt-4o" };
      return encodeRecord({ head: { ...head, attempt, sampled: true, surface: "chat", ...more }, request: null, response: null });
    };
    const records = [of(0, {}), of(1, { last: true, cost_micro_usd: 53, outcome: "success" }), of(0, { sampled: false, last: true })];
    expect(await deliver(records.map((bytes) => Buffer.from(bytes)))).toBe(true);
    expect(await deliver(records.map((bytes) => Buffer.from(bytes)))).toBe(true);
    const messages = await read(topics.traces);
    await until("all messages", () => messages.length === 4);
    expect(messages.every(({ key }) => String(key) === trace_id)).toBe(true);
    expect(new Set(messages.map(({ value }) => value?.toString("hex"))).size).toBe(2);
    const decoded = messages.map(({ value }) => ExportTraceServiceRequest.decode(value ?? Buffer.alloc(0)));
    const spans = decoded
      .slice(0, 2)
      .flatMap(({ resourceSpans }) => resourceSpans.flatMap((one) => one.scopeSpans.flatMap((two) => two.spans)));
    expect(spans.map(({ kind }) => kind)).toEqual([SpanKind.CLIENT, SpanKind.SERVER, SpanKind.CLIENT]);
    expect(spans.map((span) => [span.traceId.toString("hex"), span.parentSpanId.toString("hex")])).toEqual([
      [trace_id, span_id],
      [trace_id, parent_span_id],
      [trace_id, span_id],
    ]);
    expect(spans[1]?.spanId.toString("hex")).toBe(span_id);
    const cost = spans[2]?.attributes.find(({ key }) => key === "gen_ai.usage.cost");
    expect(cost?.value).toEqual({ value: { $case: "doubleValue", value: 0.000053 } });
  });

  test("a topic that may not be made is named, with what to do", async () => {
    const deliver = open(connect(undefined, "x".repeat(245)));
    expect(await deliver([record()])).toBe(false);
    expect(await deliver([record()])).toBe(false);
    expect(lines).toEqual([
      expect.stringMatching(
        /^error messages cannot be sent to Kafka .*refuses to make topics that are not there.*logs\.v1 \(partitions: 6\), .*dead\.v1 \(partitions: 1\)/,
      ),
    ]);
  });

  test("a message too large for its topic goes to the dead topic, alone; one too large for that as well is dropped", async () => {
    const connection = fresh();
    const topics = topicsOf(connection.topicPrefix);
    const configEntries = [{ name: "max.message.bytes", value: "20000" }];
    const ofDead = [{ name: "max.message.bytes", value: "100000" }];
    await admin.createTopics({
      waitForLeaders: false,
      topics: [
        { topic: topics.bodies, numPartitions: 1, configEntries },
        { topic: topics.dead, numPartitions: 1, configEntries: ofDead },
      ],
    });
    const fates: string[] = [];
    const deliver = open(connection, (fate) => fates.push(fate));
    const largest = record(newUuid(), "x".repeat(200_000));
    const large = record(newUuid(), "x".repeat(50_000));
    const small = Array.from({ length: 40 }, () => record(newUuid(), "y".repeat(1_000)));
    expect(await deliver([...small.slice(0, 20), large, largest, ...small.slice(20)]), lines.join("\n")).toBe(true);
    expect(fates).toEqual(["buried", "buried", "dropped"]);
    const [logs, bodies, buried] = [await read(topics.logs), await read(topics.bodies), await read(topics.dead)];
    await until("all others", () => logs.length >= 42 && bodies.length >= 40 && buried.length >= 1);
    const headers = buried.map((one) => Object.fromEntries(Object.entries(one.headers ?? {}).map(([k, v]) => [k, String(v)])));
    expect(headers).toEqual([
      expect.objectContaining({
        ce_type: "unigate.bodies.v1",
        unigate_reason: "too_large",
        unigate_topic: topics.bodies,
        unigate_partition: "-1",
        unigate_detail: expect.stringMatching(/^MESSAGE_TOO_LARGE: 5\d{4} bytes, more than max\.message\.bytes of the topic$/),
      }),
    ]);
    expect(new Set(bodies.map(({ headers }) => String(headers?.["ce_id"]))).size).toBe(40);
  });

  test("poison goes to the dead topic with its reason, and stops nobody", async () => {
    const connection = fresh();
    const topics = topicsOf(connection.topicPrefix);
    const deliver = open(connection);
    // What the sender itself cannot read, and what a stranger wrote into the topic.
    expect(await deliver([Buffer.from("{oops"), record()])).toBe(true);
    const producer = client.producer();
    await producer.connect();
    await producer.send({
      topic: topics.logs,
      messages: [
        { key: "k", value: '{"schema_version":9}', headers: { ce_id: "strange" } },
        { key: "k", value: null },
      ],
    });
    await producer.disconnect();
    const last = newUuid();
    expect(await deliver([record(last, null, "k")])).toBe(true);
    const seen: string[] = [];
    const consumer = startConsumer({
      connection,
      log,
      store: async (_kind, values) =>
        values.flatMap((value, index) => {
          const one = readLogMessage(value);
          if (!one.ok) return [{ index, reason: one.reason, detail: one.detail }];
          seen.push(one.record.head.id);
          return [];
        }),
    });
    cleanUp.push(consumer.stop);
    const dead = await read(topics.dead);
    await until("all of it", () => seen.length >= 2 && dead.length >= 3);
    const headers = dead.map((one) => Object.fromEntries(Object.entries(one.headers ?? {}).map(([k, v]) => [k, String(v)])));
    expect(headers).toContainEqual(expect.objectContaining({ unigate_reason: "invalid_json", unigate_topic: "edge-1" }));
    const foreign = headers.filter((one) => one["unigate_topic"] === topics.logs);
    expect(foreign).toEqual([
      expect.objectContaining({ unigate_reason: "unknown_schema_version", ce_id: "strange", unigate_detail: "expected 1, found 9" }),
      expect.objectContaining({ unigate_reason: "invalid_json", unigate_detail: "no value" }),
    ]);
    expect(seen).toContain(last);
    await consumer.stop();
    // All is committed: the group begins after it.
    const offsets = await admin.fetchOffsets({ groupId: `${connection.topicPrefix}-logging`, topics: [topics.logs] });
    const committed = offsets.flatMap(({ partitions }) => partitions.map(({ offset }) => Math.max(0, Number(offset))));
    expect(committed.reduce((sum, offset) => sum + offset, 0)).toBe(4);
  });

  test("messages are as large as the spool's batches and more", async () => {
    const connection = fresh();
    const deliver = open(connection);
    const records = Array.from({ length: 30 }, () => record(newUuid(), "z".repeat(200_000), "one-trace"));
    expect(await deliver(records)).toBe(true);
    const { bodies } = topicsOf(connection.topicPrefix);
    const offsets = await admin.fetchTopicOffsets(bodies);
    expect(offsets.reduce((sum, { offset }) => sum + Number(offset), 0)).toBe(30);
  });
});
