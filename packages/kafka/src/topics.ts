import { CancelToken, sleep } from "@unigate/core";
import type { Admin, Kafka } from "kafkajs";
import { brokerCode, reasonOf } from "./log.ts";
import { TopicError } from "./refusals.ts";

/** Names of the topics. A change that readers of "v1" cannot take makes a topic "v2". */
export interface Topics {
  /** Records without their bodies. */
  readonly logs: string;
  /** Bodies of the records. */
  readonly bodies: string;
  /** Spans, as OTLP protobuf. */
  readonly traces: string;
  /** What could not be read, with the reason in its headers. */
  readonly dead: string;
}

export function topicsOf(prefix: string): Topics {
  return { logs: `${prefix}.logs.v1`, bodies: `${prefix}.bodies.v1`, traces: `${prefix}.traces.v1`, dead: `${prefix}.dead.v1` };
}

const DAY_MS = 86_400_000;
/** A record fits 1 MiB; its headers come on top. */
const MAX_MESSAGE_BYTES = 2 * 1024 * 1024;

/**
 * Makes the topics that are not there: as many replicas as the broker makes by itself. Topics that are there are left as
 * they are. Throws TopicError that names those that may not be made, and what kafkajs throws when the brokers cannot be reached.
 */
export async function ensureTopics(kafka: Kafka, { logs, bodies, traces, dead }: Topics): Promise<void> {
  const wanted = [
    { topic: logs, partitions: 6, days: 7 },
    { topic: bodies, partitions: 6, days: 3 },
    { topic: traces, partitions: 6, days: 3 },
    { topic: dead, partitions: 1, days: 14 },
  ];
  const admin = kafka.admin();
  try {
    await admin.connect();
    const known = new Set(await admin.listTopics());
    const missing = wanted.filter(({ topic }) => !known.has(topic));
    const refused: string[] = [];
    let why = "";
    for (const { topic, partitions, days } of missing) {
      const configEntries = [
        { name: "retention.ms", value: String(days * DAY_MS) },
        { name: "max.message.bytes", value: String(MAX_MESSAGE_BYTES) },
      ];
      await admin
        .createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions: partitions, configEntries }] })
        .catch((error: unknown) => {
          const code = brokerCode(error);
          if (code === "TOPIC_ALREADY_EXISTS") return;
          if (code === "" || TRANSIENT.has(code)) throw error;
          refused.push(`${topic} (partitions: ${partitions})`);
          why ||= `${code}: ${reasonOf(error)}`;
        });
    }
    if (refused.length > 0) {
      throw new TopicError(
        `Kafka refuses to make topics that are not there, or that this user may not see: ${refused.join(", ")} (${why}); ` +
          `make them with max.message.bytes=${MAX_MESSAGE_BYTES}, or allow this user to create them (Create and Describe)`,
      );
    }
    if (missing.length > 0)
      await untilUsable(
        admin,
        missing.map(({ topic }) => topic),
      );
  } finally {
    await admin.disconnect().catch(() => {});
  }
}

/** A new topic is known to all brokers a little later. Waits at most `USABLE_MS`, then the first use has to try again. */
async function untilUsable(admin: Admin, names: string[]): Promise<void> {
  const giveUpAt = Date.now() + USABLE_MS;
  while (Date.now() < giveUpAt) {
    const { topics } = await admin.fetchTopicMetadata({ topics: names }).catch(() => ({ topics: [] }));
    if (
      topics.length === names.length &&
      topics.every(({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0))
    )
      return;
    await sleep(50, new CancelToken());
  }
}

const USABLE_MS = 5_000;

/** Answers after which another try may help. */
const TRANSIENT: ReadonlySet<string> = new Set([
  "NOT_CONTROLLER",
  "REQUEST_TIMED_OUT",
  "LEADER_NOT_AVAILABLE",
  "COORDINATOR_LOAD_IN_PROGRESS",
]);
