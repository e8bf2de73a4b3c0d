import { Worker } from "node:worker_threads";
import { builtFile } from "../built-file.ts";
import { SqlFault, SqlUnavailable } from "../fault.ts";
import type { FromWorker, ToWorker, WorkerData } from "./messages.ts";

/** The engine ran in this thread and would not open the folder. The thread is over. */
export class OpenFailed extends Error {
  override readonly name = "OpenFailed";
}

/** Rows, or how many an insert, update or delete touched. */
export interface Answer {
  readonly rows: Record<string, unknown>[];
  readonly affected: number;
}

/** A database folder that is open in a thread of its own. */
export interface DatabaseThread {
  /** One statement at a time. Throws SqlFault, or SqlUnavailable when the thread ended. */
  query(sql: string, parameters: readonly unknown[]): Promise<Answer>;
  readonly alive: boolean;
  /** Ends it with a checkpoint when that takes no longer than the deadline, else at once. */
  close(): Promise<void>;
}

export interface ThreadLimits {
  readonly openMs: number;
  /** A statement that takes longer ends the thread: embedded there is no other way to stop it. */
  readonly statementMs: number;
  readonly closeMs: number;
}

/** Opens a folder. Throws OpenFailed when the engine refuses it, SqlUnavailable when it does not answer. */
export async function startThread(workerData: WorkerData, limits: ThreadLimits, onLost: (cause: Error) => void): Promise<DatabaseThread> {
  const worker = new Worker(builtFile("pglite/worker.js"), { workerData, execArgv: [] });
  let waiting: ((answer: FromWorker | Error) => void) | null = null;
  let alive = true;
  let isOpen = false;

  /** The next message, or why there will be none. Holds the process open meanwhile, and only then. */
  function next(deadlineMs: number, what: string): Promise<FromWorker | Error> {
    return new Promise((resolve) => {
      worker.ref();
      const timer = setTimeout(
        () => settle(new SqlUnavailable(`the embedded database did not ${what} within ${deadlineMs} ms`)),
        deadlineMs,
      );
      function settle(answer: FromWorker | Error): void {
        clearTimeout(timer);
        waiting = null;
        worker.unref();
        resolve(answer);
      }
      waiting = settle;
    });
  }

  function over(cause: Error): void {
    if (!alive) return;
    alive = false;
    if (waiting !== null) waiting(cause);
    else if (isOpen) onLost(cause);
  }

  worker.on("message", (message: FromWorker) => waiting?.(message));
  worker.on("error", (error) => over(error));
  worker.on("exit", () => over(new SqlUnavailable("the embedded database ended")));

  async function kill(): Promise<void> {
    alive = false;
    await worker.terminate();
  }

  const opened = await next(limits.openMs, "open");
  if (opened instanceof SqlUnavailable && alive) await kill();
  if (opened instanceof Error) throw opened instanceof SqlUnavailable ? opened : new OpenFailed(opened.message);
  if (opened.kind === "open_failed") throw new OpenFailed(opened.message);
  isOpen = true;

  return {
    get alive() {
      return alive;
    },
    async query(sql, parameters) {
      if (!alive) throw new SqlUnavailable("the embedded database ended");
      const answered = next(limits.statementMs, "answer");
      send({ kind: "query", sql, parameters });
      const answer = await answered;
      if (answer instanceof Error) {
        const cause = answer instanceof SqlUnavailable ? answer : new SqlUnavailable("the embedded database ended", { cause: answer });
        await kill();
        onLost(cause);
        throw cause;
      }
      switch (answer.kind) {
        case "rows":
          return { rows: withBuffers(answer.rows, answer.bytea), affected: answer.affected };
        case "refused":
          throw new SqlFault(answer.message, answer.code);
        default: {
          const message = "message" in answer ? answer.message : answer.kind;
          const cause = new SqlUnavailable(`the embedded database broke: ${message}`);
          await kill();
          onLost(cause);
          throw cause;
        }
      }
    },
    async close() {
      if (!alive) return;
      const ended = next(limits.closeMs, "close");
      alive = false;
      worker.once("exit", () => waiting?.(new SqlUnavailable("closed")));
      send({ kind: "close" });
      await ended;
      await worker.terminate();
    },
  };

  function send(message: ToWorker): void {
    try {
      worker.postMessage(message, []);
    } catch (error) {
      waiting?.({ kind: "refused", message: `a parameter cannot be sent: ${String(error)}`, code: "22000" });
    }
  }
}

/** Between threads a Buffer becomes a plain byte array. */
function withBuffers(rows: Record<string, unknown>[], columns: readonly string[]): Record<string, unknown>[] {
  for (const column of columns) {
    for (const row of rows) {
      const value = row[column];
      if (value instanceof Uint8Array) row[column] = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
  }
  return rows;
}
