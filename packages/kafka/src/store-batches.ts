import { backgroundCall, boundCall } from "@unigate/core";
import type { EachBatchPayload, KafkaMessage } from "kafkajs";
import { type KafkaLog, reasonOf } from "./log.ts";
import { type DeadMessage, deadMessage } from "./messages.ts";
import type { KafkaProducer } from "./producer.ts";
import type { Topics } from "./topics.ts";

/** A message that cannot be used, by its index among those that were given. */
export interface Unusable {
  readonly index: number;
  readonly reason: string;
  readonly detail: string;
}

/**
 * Stores what some messages of one topic hold; gives those that cannot be used, which go to the dead topic. Throws when
 * it cannot store now: the same messages come again. Messages also come again after a crash.
 */
export type StoreValues = (kind: "logs" | "bodies", values: readonly (Buffer | null)[]) => Promise<readonly Unusable[]>;

/** Batches of kafkajs into a store. */
export interface BatchStore {
  /** Stores a batch part by part, each resolved once it is stored. When the store is away its partition pauses for a while. */
  storeBatch(payload: EachBatchPayload): Promise<void>;
  /** The partitions were shared out anew: what another member has now is no failure here. */
  forgetFailures(): void;
  /** Ends the pauses. */
  stop(): void;
}

/** Messages and bytes that are stored at once. */
const PART_MESSAGES = 500;
const PART_BYTES = 4 * 1024 * 1024;
/** How often the group is told, while something is stored, that this member lives. */
const ALIVE_MS = 2_000;
/** First pause of a partition; doubles up to `MAX_PAUSE_MS`. */
const PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;
const DEAD_MS = 10_000;

export function createBatchStore(topics: Topics, dead: KafkaProducer, log: KafkaLog, store: StoreValues): BatchStore {
  const resuming = new Set<NodeJS.Timeout>();
  /** Failures in a row, of each partition that has any: told once when the first comes, and when none is left. */
  const failures = new Map<string, number>();

  /** False when it could not be done now. */
  async function take(topic: string, partition: number, messages: readonly KafkaMessage[]): Promise<boolean> {
    const place = `${topic} ${partition}`;
    try {
      const kind = topic === topics.bodies ? "bodies" : "logs";
      const unusable = await store(
        kind,
        messages.map(({ value }) => value),
      );
      if (unusable.length > 0 && !(await bury(topic, partition, messages, unusable))) throw new Error("the dead topic takes no messages");
    } catch (error) {
      if (failures.size === 0) log.warn({ error: reasonOf(error) }, "logs from Kafka cannot be stored; they wait there");
      failures.set(place, (failures.get(place) ?? 0) + 1);
      return false;
    }
    if (failures.delete(place) && failures.size === 0) log.info({}, "logs from Kafka are stored again");
    return true;
  }

  async function bury(
    topic: string,
    partition: number,
    messages: readonly KafkaMessage[],
    unusable: readonly Unusable[],
  ): Promise<boolean> {
    const buried: DeadMessage[] = unusable.flatMap(({ index, reason, detail }) => {
      const message = messages[index];
      if (message === undefined) return [];
      const { offset, key, value, headers = {} } = message;
      return [{ topic, partition, offset, key, value, headers, reason, detail }];
    });
    const { call, done } = boundCall(backgroundCall(), DEAD_MS);
    try {
      return await dead.send(
        buried.map((one) => deadMessage(one, topics)),
        call,
      );
    } finally {
      done();
    }
  }

  async function storeBatch({ batch, resolveOffset, heartbeat, pause, isRunning, isStale }: EachBatchPayload): Promise<void> {
    for (const part of partsOf(batch.messages)) {
      if (!isRunning() || isStale()) return;
      const isTaken = await whileAlive(heartbeat, take(batch.topic, batch.partition, part));
      if (!isTaken) {
        resumeLater(pause(), failures.get(`${batch.topic} ${batch.partition}`) ?? 1);
        return;
      }
      resolveOffset(part.at(-1)?.offset ?? batch.lastOffset());
      await heartbeat();
    }
  }

  function resumeLater(resume: () => void, tries: number): void {
    const wait = Math.min(MAX_PAUSE_MS, PAUSE_MS * 2 ** Math.min(tries - 1, 10));
    const timer = setTimeout(() => {
      resuming.delete(timer);
      resume();
    }, wait);
    resuming.add(timer);
  }

  return {
    storeBatch,
    forgetFailures: () => failures.clear(),
    stop() {
      for (const timer of resuming) clearTimeout(timer);
    },
  };
}

/** Waits for some work while the group is told that this member lives. What the group objects is heard after the work. */
async function whileAlive<T>(heartbeat: () => Promise<void>, work: Promise<T>): Promise<T> {
  const timer = setInterval(() => void heartbeat().catch(() => {}), ALIVE_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

function* partsOf(messages: readonly KafkaMessage[]): Generator<KafkaMessage[]> {
  let part: KafkaMessage[] = [];
  let bytes = 0;
  for (const message of messages) {
    const weight = message.value?.length ?? 0;
    if (part.length === PART_MESSAGES || (part.length > 0 && bytes + weight > PART_BYTES)) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(message);
    bytes += weight;
  }
  if (part.length > 0) yield part;
}
