import type { SqlLane } from "../engine.ts";
import { SqlUnavailable } from "../fault.ts";

/** Whose turn it is on the one connection. */
export interface Lanes {
  /** Resolves with a function that ends the turn. Fails when too many wait, or when it takes too long. */
  turn(lane: SqlLane): Promise<() => void>;
  /** Waiting and running. */
  readonly size: number;
}

interface Waiter {
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
}

/** One turn at a time: control before logs, within a lane in the order they came. */
export function createLanes(limits: { readonly waiting: number; readonly patienceMs: number }): Lanes {
  const queues: Readonly<Record<SqlLane, Waiter[]>> = { control: [], logs: [] };
  let busy = false;

  function release(): void {
    const next = queues.control.shift() ?? queues.logs.shift();
    if (next === undefined) {
      busy = false;
      return;
    }
    clearTimeout(next.timer);
    next.start();
  }

  function turnOf(): () => void {
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      release();
    };
  }

  return {
    turn(lane) {
      if (!busy) {
        busy = true;
        return Promise.resolve(turnOf());
      }
      const queue = queues[lane];
      if (queue.length >= limits.waiting)
        return Promise.reject(new SqlUnavailable(`${queue.length} statements wait for the embedded database already`));
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          queue.splice(queue.indexOf(waiter), 1);
          reject(new SqlUnavailable(`the embedded database was busy for ${limits.patienceMs} ms`));
        }, limits.patienceMs);
        const waiter: Waiter = { start: () => resolve(turnOf()), timer };
        queue.push(waiter);
      });
    },
    get size() {
      return queues.control.length + queues.logs.length + (busy ? 1 : 0);
    },
  };
}
