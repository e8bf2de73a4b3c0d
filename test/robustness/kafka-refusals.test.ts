import { type JsonObject, newUuid } from "@unigate/core";
import {
  chatReply,
  type Gateway,
  type KafkaServer,
  requirement,
  startGateway,
  startKafkaServer,
  startUpstream,
  type Upstream,
  until,
} from "@unigate/testkit";
import { AclOperationTypes, AclPermissionTypes, AclResourceTypes, type Admin, Kafka, logLevel, ResourcePatternTypes } from "kafkajs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chat, send, target, withConfig } from "../e2e/http.ts";
import { logOf, logsOf } from "../e2e/logs.ts";
import { declaredKey } from "../e2e/stage.ts";

const jars = requirement("kafka-server");
const available = jars.available && requirement("long").available;
const USERS = { gateway: "let-me-in", reader: "let-me-read" } as const;
/** A new broker, and topics that appear, on a busy machine. */
const PATIENCE_MS = 60_000;
/** Long enough for several tries of the spool. */
const SEVERAL_TRIES_MS = 5_000;
type Operation = "CREATE" | "DESCRIBE" | "READ" | "WRITE";

describe.skipIf(!available)("a broker that makes no topics by itself and asks for rights", { timeout: 4 * PATIENCE_MS }, () => {
  const { name, key } = declaredKey("refused");
  let server: KafkaServer;
  let admin: Admin;
  let upstream: Upstream;
  let gateway: Gateway | null = null;
  let prefix = "";
  let user: keyof typeof USERS;

  beforeAll(async () => {
    upstream = await startUpstream();
    server = await startKafkaServer(jars.at, USERS);
    admin = new Kafka({ brokers: [server.adminBroker], logLevel: logLevel.NOTHING }).admin();
    await until("the broker to be usable", () => admin.connect().then(() => true), PATIENCE_MS);
  }, 4 * PATIENCE_MS);
  beforeEach(() => {
    user = "gateway";
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = null;
    upstream.reset();
  });
  afterAll(async () => {
    await admin?.disconnect();
    await server?.close();
    await upstream?.close();
  });

  const topic = (kind: "logs" | "bodies" | "traces" | "dead"): string => `${prefix}.${kind}.v1`;

  async function allow(operations: readonly Operation[], topicName = prefix): Promise<void> {
    const common = { principal: `User:${user}`, host: "*", permissionType: AclPermissionTypes.ALLOW };
    const resourcePatternType = topicName === prefix ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL;
    const acl = operations.map((operation) => ({
      ...common,
      resourceType: AclResourceTypes.TOPIC,
      resourceName: topicName,
      resourcePatternType,
      operation: AclOperationTypes[operation],
    }));
    const group = {
      resourceType: AclResourceTypes.GROUP,
      resourceName: `${prefix}-logging`,
      resourcePatternType: ResourcePatternTypes.LITERAL,
    };
    await admin.createAcls({ acl: [...acl, { ...common, ...group, operation: AclOperationTypes.READ }] });
  }

  async function make(of: Partial<Record<"logs" | "bodies" | "traces" | "dead", number>> = {}): Promise<void> {
    const topics = (["logs", "bodies", "traces", "dead"] as const).map((kind) => ({
      topic: topic(kind),
      numPartitions: 1,
      configEntries: [{ name: "max.message.bytes", value: String(of[kind] ?? 2_097_152) }],
    }));
    await admin.createTopics({ topics });
  }

  async function start(): Promise<Gateway> {
    gateway = await startGateway({
      mode: "single",
      config: { version: 1, keys: [{ name, key, scopes: ["*"] }] },
      env: {
        UNIGATE_KAFKA_BROKERS: server.broker,
        UNIGATE_KAFKA_TOPIC_PREFIX: prefix,
        UNIGATE_KAFKA_SASL_USERNAME: user,
        UNIGATE_KAFKA_SASL_PASSWORD: USERS[user],
      },
    });
    return gateway;
  }

  async function ask(on: Gateway, traceId: string, text = "Hello"): Promise<void> {
    upstream.script(chatReply("answered"));
    const headers = { ...withConfig(target(upstream.origin)), "x-gateway-trace-id": traceId };
    const answer = await chat(on, key, headers, { messages: [{ role: "user", content: text }] });
    expect(answer.status, answer.text).toBe(200);
  }

  async function metric(on: Gateway, which: string): Promise<number> {
    const { text } = await send(on, "/metrics");
    return Number(new RegExp(`^${which} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
  }

  /** What the process told about sending to Kafka, its debug log aside. */
  function told(on: Gateway, text: string): string[] {
    const lines = on
      .output()
      .split("\n")
      .flatMap((line) => (line.startsWith("{") && line.endsWith("}") ? [JSON.parse(line) as JsonObject] : []));
    return lines.filter((line) => line["msg"] === text).map((line) => String(line["error"]));
  }

  /** Records wait, and are tried; all else goes on. */
  async function waits(on: Gateway, traceIds: readonly string[]): Promise<void> {
    for (const traceId of traceIds) await ask(on, traceId);
    await until("the refusal to be seen", async () => (await metric(on, "unigate_kafka_failing")) === 1, PATIENCE_MS);
    await until("several tries", async () => (await metric(on, "unigate_spool_oldest_milliseconds")) > SEVERAL_TRIES_MS, PATIENCE_MS);
    const later = traceIds.map((traceId) => `${traceId}-later`);
    for (const traceId of later) await ask(on, traceId);
    expect(await metric(on, "unigate_spool_records")).toBe(traceIds.length * 2);
    expect(await metric(on, "unigate_log_records_dropped_total")).toBe(0);
    // Requests are served: no load balancer should take it out.
    expect((await send(on, "/readyz")).status).toBe(200);
  }

  /** Its bodies may come a moment after it. */
  async function wholeRecord(on: Gateway, traceId: string): Promise<void> {
    const [found] = await until(`the record of ${traceId}`, () => logsOf(on, key, traceId, 1), PATIENCE_MS);
    const bodies = { request: { body: { model: "gpt-test" } } };
    await until(
      `the bodies of ${traceId}`,
      async () => {
        expect(await logOf(on, key, String(found?.["id"]))).toMatchObject(bodies);
        return true;
      },
      PATIENCE_MS,
    );
  }

  async function arrives(on: Gateway, traceIds: readonly string[]): Promise<void> {
    for (const traceId of traceIds) await wholeRecord(on, traceId);
    await until("an empty spool", async () => (await metric(on, "unigate_spool_records")) === 0, PATIENCE_MS);
    expect(await metric(on, "unigate_kafka_failing")).toBe(0);
    expect(told(on, "Kafka takes messages again")).toHaveLength(1);
  }

  async function messagesIn(of: string): Promise<number> {
    return (await admin.fetchTopicOffsets(of)).reduce((sum, { offset }) => sum + Number(offset), 0);
  }

  test("with the right to create, the gateway makes its topics", async () => {
    prefix = `made-${newUuid()}`;
    await allow(["CREATE", "DESCRIBE", "READ", "WRITE"]);
    const on = await start();
    await ask(on, "made");
    await until("the record", () => logsOf(on, key, "made", 1), PATIENCE_MS);
    expect((await admin.listTopics()).filter((each) => each.startsWith(prefix)).sort()).toEqual([
      topic("bodies"),
      topic("dead"),
      topic("logs"),
      topic("traces"),
    ]);
  });

  test("without it, the topics and what to do are told once, and the records come once somebody made them", async () => {
    prefix = `missing-${newUuid()}`;
    await allow(["DESCRIBE", "READ", "WRITE"]);
    const on = await start();
    await waits(on, ["missing-1", "missing-2"]);
    const refusal = told(on, "messages cannot be sent to Kafka");
    expect(refusal).toEqual([told(on, "logs cannot be read from Kafka")[0]]);
    for (const each of ["logs", "bodies", "traces", "dead"] as const) expect(refusal[0]).toContain(`${topic(each)} (partitions: `);
    expect(refusal[0]).toMatch(/TOPIC_AUTHORIZATION_FAILED.*make them with max\.message\.bytes=2097152, or allow this user to create them/);
    await make();
    await arrives(on, ["missing-1", "missing-2", "missing-1-later", "missing-2-later"]);
  });

  test("without the right to write to one, it is named once, the others are not filled with repetitions, and all comes after", async () => {
    prefix = `forbidden-${newUuid()}`;
    await allow(["DESCRIBE", "READ"]);
    await make();
    for (const kind of ["bodies", "traces", "dead"] as const) await allow(["WRITE"], topic(kind));
    const on = await start();
    await waits(on, ["forbidden-1", "forbidden-2"]);
    expect(told(on, "messages cannot be sent to Kafka")).toEqual([
      `this user may not write to the topic ${topic("logs")} (TOPIC_AUTHORIZATION_FAILED): allow it to (Write and Describe); the records wait until then`,
    ]);
    // While the first refusal was looked into, what could be sent may have been sent some times.
    for (const kind of ["bodies", "traces"] as const) expect(await messagesIn(topic(kind))).toBeLessThanOrEqual(6);
    await allow(["WRITE"], topic("logs"));
    await arrives(on, ["forbidden-1", "forbidden-2", "forbidden-1-later", "forbidden-2-later"]);
    expect(await messagesIn(topic("logs"))).toBe(4);
  });

  test("without the right to write to any, that is told once, and all comes after", async () => {
    [prefix, user] = [`reader-${newUuid()}`, "reader"];
    await allow(["DESCRIBE", "READ"]);
    await make();
    const on = await start();
    await waits(on, ["reader-1"]);
    expect(told(on, "messages cannot be sent to Kafka")).toEqual([
      expect.stringMatching(
        /^this user may write to no topic \(CLUSTER_AUTHORIZATION_FAILED\): allow it to write to .*logs\.v1, .*dead\.v1/,
      ),
    ]);
    await allow(["WRITE"]);
    await arrives(on, ["reader-1", "reader-1-later"]);
  });

  test("bodies too large for their topic are in the dead topic; their record and all others come", async () => {
    prefix = `large-${newUuid()}`;
    await allow(["DESCRIBE", "READ", "WRITE"]);
    await make({ bodies: 20_000 });
    const on = await start();
    for (const traceId of ["before", "large", "after"]) await ask(on, traceId, traceId === "large" ? "x".repeat(50_000) : "Hello");
    for (const traceId of ["before", "after"]) await wholeRecord(on, traceId);
    const [large]: JsonObject[] = await until("the record without bodies", () => logsOf(on, key, "large", 1), PATIENCE_MS);
    expect(await logOf(on, key, String(large?.["id"]))).toMatchObject({
      status: 200,
      request: { body: null, truncated: true },
    });
    await until("the bodies in the dead topic", async () => (await messagesIn(topic("dead"))) === 1, PATIENCE_MS);
    // What was sent along with them may have been sent twice.
    expect(await messagesIn(topic("logs"))).toBeLessThanOrEqual(6);
    expect(await metric(on, "unigate_kafka_messages_refused_total")).toBe(1);
    expect(await metric(on, "unigate_kafka_messages_dropped_total")).toBe(0);
  });
});
