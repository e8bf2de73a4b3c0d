import type { AppendAck, AppendBatch, LoggingPort } from "@unigate/contracts";
import { backgroundCall, type Call, CancelToken, sleep } from "@unigate/core";

/** Waits between connections and for acknowledgements, ms. */
export interface AppendStreamLimits {
  /** First wait after a broken connection; doubles up to `maxBackoffMs`, with full jitter. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** A connection that acknowledges nothing for so long is given up. */
  readonly ackTimeoutMs: number;
}

/** One long-lived Append call that is opened again when it breaks. */
export interface AppendStream {
  /** Sends a batch and keeps it until it is acknowledged; what is not acknowledged is sent again after a reconnect. */
  push(batch: AppendBatch): void;
  /** Batches not acknowledged yet. */
  pending(): number;
  /** Ends the call; what is not acknowledged is given up. */
  close(): Promise<void>;
}

/** `onAck` gets each batch once it is stored; `onBreak` is told when a connection ended. Neither may throw. */
export function createAppendStream(
  append: LoggingPort["append"],
  limits: AppendStreamLimits,
  random: () => number,
  onAck: (batch: AppendBatch) => void,
  onBreak: () => void,
): AppendStream {
  const unacknowledged: AppendBatch[] = [];
  const closing = new CancelToken();
  let wake: () => void = nothing;
  let running: Promise<void> | null = null;
  let failures = 0;

  function acknowledge(ack: AppendAck, connection: Connection): void {
    for (;;) {
      const first = unacknowledged[0];
      if (first === undefined || first.offset > ack.offset) return;
      unacknowledged.shift();
      connection.sent -= 1;
      connection.heardAt = Date.now();
      failures = 0;
      onAck(first);
    }
  }

  async function* outgoing(connection: Connection): AsyncGenerator<AppendBatch> {
    while (!connection.cancel.cancelled && !closing.cancelled) {
      const batch = unacknowledged[connection.sent];
      if (batch === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      if (connection.sent === 0) connection.heardAt = Date.now();
      connection.sent += 1;
      yield batch;
    }
  }

  async function connect(): Promise<void> {
    const connection: Connection = { sent: 0, heardAt: Date.now(), cancel: new CancelToken() };
    connection.cancel.onCancel(() => wake());
    // Half-closed first; a peer that does not end its side soon is cut.
    const stop = closing.onCancel(() => setTimeout(() => connection.cancel.cancel("shutdown"), CLOSE_GRACE_MS).unref());
    const watchdog = setInterval(() => {
      if (connection.sent > 0 && Date.now() - connection.heardAt > limits.ackTimeoutMs) connection.cancel.cancel("deadline");
    }, limits.ackTimeoutMs / 4).unref();
    const call: Call = { ...backgroundCall(), cancel: connection.cancel };
    try {
      for await (const ack of append(outgoing(connection), call)) acknowledge(ack, connection);
    } finally {
      clearInterval(watchdog);
      stop();
      // Ends `outgoing` when the answers ended first.
      connection.cancel.cancel("peer");
    }
  }

  async function run(): Promise<void> {
    while (!closing.cancelled && unacknowledged.length > 0) {
      try {
        await connect();
      } catch {
        // Every end of a connection is handled alike, below: wait and send again.
      }
      if (closing.cancelled) break;
      onBreak();
      failures += 1;
      await sleep(random() * Math.min(limits.maxBackoffMs, limits.backoffMs * 2 ** (failures - 1)), closing);
    }
    running = null;
  }

  return {
    push(batch) {
      unacknowledged.push(batch);
      wake();
      running ??= run();
    },
    pending: () => unacknowledged.length,
    async close() {
      closing.cancel("shutdown");
      wake();
      await running;
    },
  };
}

const CLOSE_GRACE_MS = 1_000;

interface Connection {
  /** How many of the unacknowledged batches went out on this connection. */
  sent: number;
  /** When something was last acknowledged, or sent after a silence. */
  heardAt: number;
  readonly cancel: CancelToken;
}

function nothing(): void {}
