import type { KafkaConnection, RecordBodies, RunningConsumer, Unusable } from "@unigate/kafka";
import type { Logger } from "@unigate/runtime";
import type { BatchOutcome } from "./append.ts";
import type { LogStore, NewRecord } from "./log-store.ts";

export interface LogConsumerDeps {
  readonly connection: KafkaConnection;
  readonly store: LogStore;
  readonly log: Pick<Logger, "debug" | "info" | "warn" | "error">;
  /** Told what became of each batch of records, for metrics. Must not throw. */
  readonly onBatch: (outcome: BatchOutcome) => void;
}

/**
 * Stores what comes over Kafka, each event once in effect. What cannot be read goes to the dead topic. Kafka's code is
 * loaded here: a process without brokers does not pay for it.
 */
export async function consumeLogs({ connection, store, log, onBatch }: LogConsumerDeps): Promise<RunningConsumer> {
  const { readBodiesMessage, readLogMessage, startConsumer } = await import("@unigate/kafka");

  async function storeLogs(values: readonly (Buffer | null)[]): Promise<Unusable[]> {
    const records: NewRecord[] = [];
    const unusable: Unusable[] = [];
    let reason: BatchOutcome["reason"] = null;
    for (const [index, value] of values.entries()) {
      const read = readLogMessage(value);
      if (read.ok) records.push({ ...read.record, bodiesApart: read.bodiesApart });
      else {
        unusable.push({ index, reason: read.reason, detail: read.detail });
        reason ??= read.reason;
      }
    }
    const added = await store.add(records);
    if (added.refused > 0) reason ??= "store";
    tell({ ...added, refused: added.refused + unusable.length, reason, detail: unusable[0]?.detail ?? added.detail });
    return unusable;
  }

  async function storeBodies(values: readonly (Buffer | null)[]): Promise<Unusable[]> {
    const bodies: RecordBodies[] = [];
    const unusable: Unusable[] = [];
    for (const [index, value] of values.entries()) {
      const read = readBodiesMessage(value);
      if (read.ok) bodies.push(read.bodies);
      else unusable.push({ index, reason: read.reason, detail: read.detail });
    }
    const { refused, detail } = await store.addBodies(bodies);
    if (refused + unusable.length > 0) {
      log.warn({ refused: refused + unusable.length, detail: unusable[0]?.detail ?? detail }, "bodies of log records were refused");
    }
    return unusable;
  }

  function tell(outcome: BatchOutcome): void {
    onBatch(outcome);
    const { refused, reason, detail } = outcome;
    if (refused > 0) log.warn({ refused, reason, detail }, "log records were refused");
  }

  return startConsumer({ connection, log, store: (kind, values) => (kind === "logs" ? storeLogs(values) : storeBodies(values)) });
}
