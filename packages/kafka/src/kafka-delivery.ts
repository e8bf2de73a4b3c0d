import { setImmediate } from "node:timers/promises";
import type { AppendBatch } from "@unigate/contracts";
import type { Call } from "@unigate/core";
import { readRecord } from "@unigate/events";
import type { KafkaConnection } from "./connection.ts";
import type { KafkaLog } from "./log.ts";
import { deadMessage, messagesOf, type OutgoingMessage, spansMessageOf } from "./messages.ts";
import { createProducer, type Fate } from "./producer.ts";
import { topicsOf } from "./topics.ts";

/** Delivery of a spool's records to Kafka. */
export interface KafkaDelivery {
  /** True once all of them are acknowledged; false when Kafka does not take them in the call's time: the spool keeps them. */
  deliver(batch: AppendBatch, call: Call): Promise<boolean>;
  /** True while Kafka does not take what is sent, for whatever reason; it was told. */
  failing(): boolean;
  close(): Promise<void>;
}

export interface KafkaDeliveryDeps {
  readonly connection: KafkaConnection;
  readonly log: KafkaLog;
  /** Told of each message too large for its topic, and of each too large for the dead topic. Must not throw. */
  readonly onRefused?: (fate: Fate) => void;
}

/** Bytes that are read at one go: records from a disk are parsed, and requests run on the same thread. */
const TURN_BYTES = 64 * 1024;

/**
 * Records as messages: heads to one topic, bodies to another, spans to a third, all keyed by the trace. What is no record goes to the dead
 * topic, so that it does not stop the others.
 */
export function kafkaDelivery({ connection, log, onRefused }: KafkaDeliveryDeps): KafkaDelivery {
  const topics = topicsOf(connection.topicPrefix);
  const producer = createProducer({
    connection,
    log,
    onRefused({ topic, value }, code, fate) {
      const fields = { topic, bytes: value.length, code };
      if (fate === "dropped") log.error(fields, "a message is too large for the dead topic; it is dropped");
      else log.warn(fields, "a message is too large for its topic; the dead topic gets it");
      onRefused?.(fate);
    },
  });
  async function messagesIn({ spoolId, offset, records }: AppendBatch): Promise<OutgoingMessage[]> {
    const messages: OutgoingMessage[] = [];
    let bytes = 0;
    for (const [index, record] of records.entries()) {
      const read = readRecord(record);
      if (read.ok) {
        messages.push(...messagesOf(read.record, topics));
        const spans = spansMessageOf(read.record, topics);
        if (spans !== null) messages.push(spans);
      } else {
        const place = { topic: spoolId, partition: 0, offset: String(offset - records.length + index) };
        messages.push(deadMessage({ ...place, key: null, value: record, headers: {}, reason: read.reason, detail: read.detail }, topics));
      }
      bytes += record.length;
      if (bytes < TURN_BYTES) continue;
      bytes = 0;
      await setImmediate();
    }
    return messages;
  }

  return {
    deliver: async (batch, call) => producer.send(await messagesIn(batch), call),
    failing: producer.failing,
    close: producer.close,
  };
}
