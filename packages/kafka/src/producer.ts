import type { Call } from "@unigate/core";
import { type Kafka, type Message, Partitioners, type Producer } from "kafkajs";
import { type KafkaConnection, openKafka } from "./connection.ts";
import { brokerCode, type KafkaLog, reasonOf } from "./log.ts";
import { deadMessage, type OutgoingMessage } from "./messages.ts";
import { FORBIDDEN, forbiddenEverywhere, forbiddenTopic, TOO_LARGE, TopicError, tooLarge } from "./refusals.ts";
import { ensureTopics, topicsOf } from "./topics.ts";

/** Sends messages: idempotent, acknowledged by all replicas in sync. Connects with its first use. */
export interface KafkaProducer {
  /** True once all are acknowledged. False when they are not, or when nobody waits any more: they must come again. Never throws. */
  send(messages: readonly OutgoingMessage[], call: Call): Promise<boolean>;
  /** True from a failure on that was told, until messages are taken again. */
  failing(): boolean;
  close(): Promise<void>;
}

export interface ProducerDeps {
  readonly connection: KafkaConnection;
  readonly log: KafkaLog;
  /**
   * Told of a message too large for its topic, in place of sending it for ever: it goes to the dead topic, and when it
   * is too large for that as well it is dropped. Must not throw.
   */
  readonly onRefused: (message: OutgoingMessage, code: string, fate: Fate) => void;
}

/** What becomes of a message that is too large. */
export type Fate = "buried" | "dropped";

/** One connected producer of kafkajs. After a failure the next one begins anew: no order of numbers has to be mended. */
interface Link {
  producer: Producer;
  readonly ready: Promise<void>;
  /** What runs on it. */
  readonly work: Set<Promise<unknown>>;
}

/** Bytes of one request, so that what goes to one partition is below a broker's usual limit of 1 MiB. */
const CHUNK_BYTES = 768 * 1024;
/** What a message weighs beside its value, roughly. */
const OVERHEAD = 300;
/** How long the broker may wait for its replicas. */
const ACKNOWLEDGE_MS = 5_000;

export function createProducer({ connection, log, onRefused }: ProducerDeps): KafkaProducer {
  const topics = topicsOf(connection.topicPrefix);
  const kafka = openKafka(connection, log);
  let current: Link | null = null;
  const ending = new Set<Promise<void>>();
  let trouble = "";
  let topicsAreThere = false;
  /** The topic that this user may not write to: it is tried first, or the others would get the same messages at each try. */
  let forbidden = "";

  function open(): Link {
    const producer = newProducer(kafka);
    const ready = (async () => {
      if (!topicsAreThere) await ensureTopics(kafka, topics);
      await producer.connect().catch((error: unknown) => {
        const code = brokerCode(error);
        throw FORBIDDEN.has(code) ? forbiddenEverywhere(Object.values(topics), code) : error;
      });
      topicsAreThere = true;
    })();
    ready.catch(() => {});
    return { producer, ready, work: new Set() };
  }

  async function sendAll(link: Link, messages: readonly OutgoingMessage[]): Promise<boolean> {
    try {
      await link.ready;
      for (const part of forbidden === "" ? [messages] : apart(messages, forbidden))
        for (const chunk of chunksOf(part)) await sendChunk(link, chunk);
    } catch (error) {
      tellTrouble(error);
      return false;
    }
    if (trouble !== "") log.info({ topics: connection.topicPrefix }, "Kafka takes messages again");
    [trouble, forbidden] = ["", ""];
    return true;
  }

  /**
   * The broker does not say what it means: a request that it refuses is sent again in parts, topic by topic, then in
   * halves. A message too large alone goes to the dead topic; a topic that may not be written to is a TopicError.
   */
  async function sendChunk(link: Link, chunk: readonly OutgoingMessage[]): Promise<void> {
    try {
      await link.producer.sendBatch({ acks: -1, timeout: ACKNOWLEDGE_MS, topicMessages: byTopic(chunk) });
    } catch (error) {
      const code = brokerCode(error);
      const [first] = chunk;
      if (first === undefined || !(FORBIDDEN.has(code) || TOO_LARGE.has(code))) throw error;
      const [same, others] = apart(chunk, first.topic);
      if (others.length === 0 && FORBIDDEN.has(code)) {
        forbidden = first.topic;
        throw forbiddenTopic(first.topic, code);
      }
      await renew(link);
      if (chunk.length === 1) return bury(link, first, code);
      const middle = chunk.length >>> 1;
      const parts = others.length > 0 ? [same, others] : [chunk.slice(0, middle), chunk.slice(middle)];
      for (const part of parts) await sendChunk(link, part);
    }
  }

  async function bury(link: Link, message: OutgoingMessage, code: string): Promise<void> {
    const fate = message.topic === topics.dead ? "dropped" : "buried";
    onRefused(message, code, fate);
    if (fate === "dropped") return;
    await sendChunk(link, [deadMessage(tooLarge(message, code), topics)]);
  }

  /** Other partitions may have taken their part: under the same numbers the broker would take the parts for repetitions. */
  async function renew(link: Link): Promise<void> {
    const old = link.producer;
    link.producer = newProducer(kafka);
    await Promise.all([old.disconnect(), link.producer.connect()]);
  }

  function tellTrouble(error: unknown): void {
    topicsAreThere = false;
    const now = error instanceof TopicError ? error.message : brokerCode(error) || "unreachable";
    if (now === trouble) return;
    trouble = now;
    if (error instanceof TopicError) log.error({ error: error.message }, "messages cannot be sent to Kafka");
    else log.warn({ error: reasonOf(error) }, "Kafka does not take messages; they are kept and sent again");
  }

  /** What still runs on it tries only a few times more; then it is closed. */
  function abandon(link: Link): void {
    if (current === link) current = null;
    const end = Promise.allSettled([...link.work, link.ready])
      .then(() => link.producer.disconnect())
      .catch(() => {})
      .then(() => void ending.delete(end));
    ending.add(end);
  }

  return {
    async send(messages, call) {
      if (messages.length === 0) return true;
      const link = (current ??= open());
      const work = sendAll(link, messages);
      link.work.add(work);
      let stop: () => void = () => {};
      const givenUp = new Promise<boolean>((resolve) => {
        stop = call.cancel.onCancel(() => resolve(false));
      });
      const sent = await Promise.race([work, givenUp]);
      stop();
      if (sent) link.work.delete(work);
      else if (current === link) abandon(link);
      return sent;
    },
    failing: () => trouble !== "",
    async close() {
      if (current !== null) abandon(current);
      await Promise.all(ending);
    },
  };
}

function newProducer(kafka: Kafka): Producer {
  return kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    // Named, or kafkajs warns of a default that changed years ago.
    createPartitioner: Partitioners.DefaultPartitioner,
    // kafkajs would try for ever. Sequence numbers begin anew after a failure, and readers know an event by its id.
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 1_000 },
  });
}

/** Those of a topic, and the others. */
function apart(messages: readonly OutgoingMessage[], topic: string): [OutgoingMessage[], OutgoingMessage[]] {
  return [messages.filter((one) => one.topic === topic), messages.filter((one) => one.topic !== topic)];
}

function* chunksOf(messages: readonly OutgoingMessage[]): Generator<OutgoingMessage[]> {
  let chunk: OutgoingMessage[] = [];
  let bytes = 0;
  for (const message of messages) {
    const weight = message.value.length + OVERHEAD;
    if (chunk.length > 0 && bytes + weight > CHUNK_BYTES) {
      yield chunk;
      [chunk, bytes] = [[], 0];
    }
    chunk.push(message);
    bytes += weight;
  }
  if (chunk.length > 0) yield chunk;
}

function byTopic(messages: readonly OutgoingMessage[]): { topic: string; messages: Message[] }[] {
  const groups = new Map<string, Message[]>();
  for (const { topic, key, value, headers } of messages) {
    const group = groups.get(topic) ?? [];
    groups.set(topic, group);
    group.push({ key, value, headers });
  }
  return [...groups].map(([topic, group]) => ({ topic, messages: group }));
}
