import type { AppendAck, AppendBatch } from "@unigate/contracts";
import { type EncodedRecord, type RefusalReason, readRecord } from "@unigate/events";
import type { AddOutcome, LogStore } from "./log-store.ts";

/** What became of a batch. */
export interface BatchOutcome extends AddOutcome {
  /** Why the first one was refused: by its bytes, or by the store. */
  readonly reason: RefusalReason | "store" | null;
}

/**
 * Stores batches and acknowledges each once it is stored; the next one is taken only then, so a slow store slows its
 * writers. A record that cannot be stored is refused alone, told to `onOutcome`, and acknowledged with its batch: sent
 * again it would be refused again. When the store cannot be used the call ends, told to `onFailure`: what has no
 * acknowledgement comes again.
 */
export async function* append(
  store: LogStore,
  batches: AsyncIterable<AppendBatch>,
  onOutcome: (outcome: BatchOutcome) => void,
  onFailure: (error: unknown) => void,
): AsyncGenerator<AppendAck> {
  for await (const { spoolId, offset, records } of batches) {
    try {
      onOutcome(await storeBatch(store, records));
    } catch (error) {
      onFailure(error);
      throw error;
    }
    yield { spoolId, offset };
  }
}

async function storeBatch(store: LogStore, records: readonly Buffer[]): Promise<BatchOutcome> {
  const readable: EncodedRecord[] = [];
  let unread = 0;
  let [reason, detail]: [BatchOutcome["reason"], string] = [null, ""];
  for (const bytes of records) {
    const read = readRecord(bytes);
    if (read.ok) readable.push(read.record);
    else {
      if (unread === 0) [reason, detail] = [read.reason, read.detail];
      unread += 1;
    }
  }
  const added = await store.add(readable);
  if (reason === null && added.refused > 0) [reason, detail] = ["store", added.detail];
  return { ...added, refused: unread + added.refused, reason, detail };
}
