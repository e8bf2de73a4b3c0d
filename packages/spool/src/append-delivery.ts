import type { AppendAck, AppendBatch, LoggingPort } from "@unigate/contracts";
import { backgroundCall, type Call, CancelToken } from "@unigate/core";
import type { Deliver } from "./drain.ts";

/** Delivery to the logging service over one long-lived Append call, opened again when it breaks. */
export interface AppendDelivery {
  readonly deliver: Deliver;
  /** Ends the call; what is not acknowledged is not delivered. */
  close(): Promise<void>;
}

interface Connection {
  readonly outgoing: AppendBatch[];
  /** What waits for its acknowledgement, by spool: a spool sends one batch at a time. */
  readonly waiting: Map<string, { readonly offset: number; readonly answer: (acknowledged: boolean) => void }>;
  readonly cancel: CancelToken;
  wake: () => void;
  done: Promise<void>;
}

export function appendDelivery(append: LoggingPort["append"]): AppendDelivery {
  let current: Connection | null = null;

  function open(): Connection {
    const connection: Connection = { outgoing: [], waiting: new Map(), cancel: new CancelToken(), wake: nothing, done: Promise.resolve() };
    connection.cancel.onCancel(() => connection.wake());
    connection.done = receive(connection);
    return connection;
  }

  async function* send(connection: Connection): AsyncGenerator<AppendBatch> {
    while (!connection.cancel.cancelled) {
      const batch = connection.outgoing.shift();
      if (batch !== undefined) yield batch;
      else
        await new Promise<void>((resolve) => {
          connection.wake = resolve;
        });
    }
  }

  async function receive(connection: Connection): Promise<void> {
    const call: Call = { ...backgroundCall(), cancel: connection.cancel };
    try {
      for await (const ack of append(send(connection), call)) acknowledge(connection, ack);
    } catch {
      // Every end of a connection is handled alike: what waits was not delivered.
    }
    if (current === connection) current = null;
    connection.cancel.cancel("peer");
    for (const { answer } of connection.waiting.values()) answer(false);
  }

  return {
    deliver(batch, call) {
      const connection = (current ??= open());
      return new Promise((resolve) => {
        // An answer that does not come in time comes no more: all begins anew on another connection.
        const stop = call.cancel.onCancel((reason) => {
          if (current === connection) current = null;
          connection.cancel.cancel(reason);
        });
        const answer = (acknowledged: boolean): void => {
          stop();
          connection.waiting.delete(batch.spoolId);
          resolve(acknowledged);
        };
        connection.waiting.set(batch.spoolId, { offset: batch.offset, answer });
        connection.outgoing.push(batch);
        connection.wake();
      });
    },
    async close() {
      const connection = current;
      current = null;
      connection?.cancel.cancel("shutdown");
      await connection?.done;
    },
  };
}

function acknowledge(connection: Connection, ack: AppendAck): void {
  const waiting = connection.waiting.get(ack.spoolId);
  if (waiting !== undefined && ack.offset >= waiting.offset) waiting.answer(true);
}

function nothing(): void {}
