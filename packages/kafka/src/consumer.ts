import { CancelToken, sleep } from "@unigate/core";
import type { Consumer } from "kafkajs";
import { type KafkaConnection, openKafka } from "./connection.ts";
import { type KafkaLog, reasonOf } from "./log.ts";
import { createProducer } from "./producer.ts";
import { TopicError } from "./refusals.ts";
import { createBatchStore, type StoreValues } from "./store-batches.ts";
import { ensureTopics, topicsOf } from "./topics.ts";

export interface ConsumerDeps {
  readonly connection: KafkaConnection;
  readonly log: KafkaLog;
  readonly store: StoreValues;
}

/** A member of the group that shares the topics' partitions. */
export interface RunningConsumer {
  /** Partitions that this member reads now. */
  partitions(): number;
  /** Ends after the batch that is being stored, within some seconds. */
  stop(): Promise<void>;
}

const SESSION_MS = 15_000;
const HEARTBEAT_MS = 2_000;
const BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 10_000;
const STOP_MS = 5_000;

/**
 * Reads the logs and the bodies in the background, from the oldest on for a new group; offsets are committed after the
 * store. A slow store slows the reading; when it is away its partition pauses. Brokers that are away are tried again.
 */
export function startConsumer({ connection, log, store }: ConsumerDeps): RunningConsumer {
  const topics = topicsOf(connection.topicPrefix);
  const kafka = openKafka(connection, log);
  const dead = createProducer({
    connection,
    log,
    onRefused: ({ value }, code) => log.error({ bytes: value.length, code }, "a message was of no use, and too large for the dead topic"),
  });
  const stopping = new CancelToken();
  const batches = createBatchStore(topics, dead, log, store);
  let partitions = 0;

  /** One life of a consumer: until it fails, which throws, or until the stop. */
  async function live(): Promise<void> {
    await ensureTopics(kafka, topics);
    const consumer = kafka.consumer({
      groupId: `${connection.topicPrefix}-logging`,
      allowAutoTopicCreation: false,
      sessionTimeout: SESSION_MS,
      heartbeatInterval: HEARTBEAT_MS,
      maxWaitTimeInMs: 500,
      // Its own restarts end at some errors for ever; ours do not.
      retry: { retries: 5, initialRetryTime: 200, maxRetryTime: 2_000, restartOnFailure: async () => false },
    });
    let forget = (): void => {};
    const ended = new Promise<Error | null>((resolve) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => resolve(payload.error));
      forget = stopping.onCancel(() => resolve(null));
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      partitions = Object.values(payload.memberAssignment).reduce((sum, list) => sum + list.length, 0);
      batches.forgetFailures();
      log.debug({ partitions }, "partitions of the logs were shared out");
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topics.logs, topics.bodies], fromBeginning: true });
      await consumer.run({ eachBatchAutoResolve: false, partitionsConsumedConcurrently: 2, eachBatch: batches.storeBatch });
      const crash = await ended;
      if (crash !== null) throw crash;
    } finally {
      forget();
      partitions = 0;
      await leave(consumer);
    }
  }

  async function supervise(): Promise<void> {
    let told = "";
    for (let crashes = 1; !stopping.cancelled; crashes++) {
      const begun = Date.now();
      try {
        await live();
      } catch (error) {
        if (stopping.cancelled) return;
        if (Date.now() - begun > MAX_BACKOFF_MS) [crashes, told] = [1, ""];
        const reason = error instanceof TopicError ? error.message : reasonOf(error);
        if (error instanceof TopicError && reason !== told) log.error({ error: reason }, "logs cannot be read from Kafka");
        else if (told === "") log.warn({ error: reason }, "logs cannot be read from Kafka now; it is tried again");
        told = reason;
      }
      await sleep(Math.min(MAX_BACKOFF_MS, BACKOFF_MS * 2 ** Math.min(crashes, 10)), stopping);
    }
  }

  const done = supervise();
  return {
    partitions: () => partitions,
    async stop() {
      stopping.cancel("shutdown");
      await atMost(done, STOP_MS + 1_000);
      batches.stop();
      await atMost(dead.close(), STOP_MS);
    },
  };
}

async function leave(consumer: Consumer): Promise<void> {
  await atMost(
    consumer.disconnect().catch(() => {}),
    STOP_MS,
  );
}

async function atMost(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, patience]);
  clearTimeout(timer);
}
