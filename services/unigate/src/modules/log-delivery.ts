import type { LoggingPort } from "@unigate/contracts";
import { boundCall } from "@unigate/core";
import { appendDelivery, type Deliver } from "@unigate/spool";
import type { Host } from "../module.ts";

/** Longest try of Kafka at the end of the process, before the logging service is asked to take the rest, ms. */
const LAST_TRY_MS = 3_000;

/** Where the spool's records go. */
export interface LogDelivery {
  readonly deliver: Deliver;
  /** The process is about to end: what Kafka does not take now goes to the logging service (mesh.md section 5). */
  handOver(): void;
  close(): Promise<void>;
}

/** To Kafka when there are brokers, else to the logging service. */
export async function startDelivery(host: Host, logging: Pick<LoggingPort, "append">): Promise<LogDelivery> {
  const direct = appendDelivery(logging.append);
  const { kafka } = host.settings;
  if (kafka === null) return { deliver: direct.deliver, handOver() {}, close: () => direct.close() };
  const { kafkaDelivery } = await import("@unigate/kafka");
  const refused = host.metrics.counter(
    "unigate_kafka_messages_refused_total",
    "messages too large for their topic, which go to the dead topic",
  );
  const lost = host.metrics.counter("unigate_kafka_messages_dropped_total", "messages too large for the dead topic, which are lost");
  const overKafka = kafkaDelivery({ connection: kafka, log: host.log, onRefused: (fate) => (fate === "dropped" ? lost : refused).inc() });
  host.metrics.gauge("unigate_kafka_failing", "1 while Kafka does not take log records", () => Number(overKafka.failing()), "each");
  let isEnding = false;
  return {
    async deliver(batch, call) {
      if (!isEnding) return overKafka.deliver(batch, call);
      const short = boundCall(call, LAST_TRY_MS);
      const isSent = await overKafka.deliver(batch, short.call).finally(short.done);
      return isSent || direct.deliver(batch, call);
    },
    handOver() {
      isEnding = true;
    },
    async close() {
      await direct.close();
      await overKafka.close();
    },
  };
}
