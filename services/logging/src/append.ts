import type { AppendAck, AppendBatch } from "@unigate/contracts";
import { type RefusalReason, readRecord } from "@unigate/events";
import type { LogStore } from "./log-store.ts";

/** What became of a batch. */
export interface BatchOutcome {
  readonly refused: number;
  /** Why, of the first one refused. */
  readonly reason: RefusalReason | null;
  readonly detail: string;
}

/**
 * Stores batches and acknowledges each once it is stored. A record that cannot be stored is refused alone, told to
 * `onRefused`, and acknowledged with its batch: sent again it would be refused again.
 */
export async function* append(
  store: LogStore,
  batches: AsyncIterable<AppendBatch>,
  onRefused: (outcome: BatchOutcome) => void,
): AsyncGenerator<AppendAck> {
  for await (const { spoolId, offset, records } of batches) {
    const outcome = storeBatch(store, records);
    if (outcome.refused > 0) onRefused(outcome);
    yield { spoolId, offset };
  }
}

function storeBatch(store: LogStore, records: readonly Buffer[]): BatchOutcome {
  let outcome: BatchOutcome = { refused: 0, reason: null, detail: "" };
  for (const bytes of records) {
    const read = readRecord(bytes);
    if (read.ok) store.add(read.record);
    else
      outcome =
        outcome.refused === 0 ? { refused: 1, reason: read.reason, detail: read.detail } : { ...outcome, refused: outcome.refused + 1 };
  }
  return outcome;
}
