import cluster, { type Worker } from "node:cluster";
import type { Logger, Metrics, MetricsPage, MetricsSnapshot } from "@unigate/runtime";
import { restartWait } from "../restart-wait.ts";
import { assignmentVariables, isMessage, type Order, type Word } from "./messages.ts";
import { createPending } from "./pending.ts";

const START_MS = 60_000;
const ALIVE_MS = 1_000;
const ANSWER_MS = 2_000;
/** Beyond the time for running requests: what a worker may need before and after it, ms. */
const END_MS = 35_000;
const HURRIED_END_MS = 20_000;
const LONGEST_MS = 2_147_483_647;

/** The workers of a primary: as many as there should be, started again when they die. */
export interface Crew {
  /** Gives their port once every one is ready. Fails with what the first that could not start said. */
  start(): Promise<number>;
  /** Lets every one drain; those that do not end in time are killed. */
  stop(interactive: boolean): Promise<void>;
  hurry(): void;
  /** How many serve now. */
  readonly ready: number;
  /** The metrics of each that answers, by number. */
  snapshots(): Promise<ReadonlyMap<string, MetricsSnapshot>>;
}

export interface CrewOptions {
  readonly count: number;
  /** gRPC address of the primary. */
  readonly owner: string;
  /** 0 = any free one, the same for all. */
  readonly port: number;
  readonly drainMs: number;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The metrics of all processes. */
  page(): Promise<MetricsPage>;
  onEnd(number: number): void;
}

/** The place of one worker. */
interface Seat {
  readonly number: number;
  worker: Worker | null;
  isReady: boolean;
  waitMs: number;
  timer: NodeJS.Timeout | undefined;
}

export function createCrew(options: CrewOptions): Crew {
  const { log } = options;
  const seats = Array.from({ length: options.count }, (_, index): Seat => {
    return { number: index + 1, worker: null, isReady: false, waitMs: 0, timer: undefined };
  });
  const questions = createPending<MetricsSnapshot>("a worker", ANSWER_MS);
  let isStarted = false;
  let stopping = false;
  /** How all are ended, for those that did not listen yet when they were told. */
  const endings: Order[] = [];
  let httpPort = options.port;
  const living = (): readonly Worker[] => seats.flatMap(({ worker }) => (worker === null ? [] : [worker]));
  const readyCount = (): number => seats.filter(({ isReady }) => isReady).length;
  const restarts = options.metrics.counter("unigate_worker_restarts_total", "workers that died and were started again");
  options.metrics.gauge("unigate_workers_ready", "workers that serve", readyCount);
  // Round robin has the primary accept every connection and hand it over: measured at 250 us of CPU each, most of it
  // where all state lives. Workers that accept from one socket share the load unevenly while there is little of it.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const alive = setInterval(() => tellAll({ kind: "alive" }), ALIVE_MS).unref();

  function tell(worker: Worker, order: Order): void {
    // One that dies meanwhile is seen by its exit.
    if (worker.isConnected()) worker.send(order, () => {});
  }
  function tellAll(order: Order): void {
    for (const worker of living()) tell(worker, order);
  }

  function end(order: Order): void {
    endings.push(order);
    tellAll(order);
  }

  /** Resolves once the worker is ready; fails when it ends before. */
  function launch(seat: Seat): Promise<void> {
    return new Promise((done, fail) => {
      const startedAt = performance.now();
      // A free port is the same for all as long as one of them has it.
      const port = living().length === 0 ? httpPort : options.port;
      const worker = cluster.fork({ ...assignmentVariables({ number: seat.number, owner: options.owner }), PORT: String(port) });
      const late = setTimeout(() => worker.process.kill("SIGKILL"), START_MS);
      let failure: Error | null = null;
      seat.worker = worker;
      worker.on("message", (message: unknown) => {
        if (!isMessage(message)) return;
        const word = message as Word;
        if (word.kind === "failed") failure = failureOf(word);
        else if (word.kind !== "ready") answer(worker, word);
        else {
          clearTimeout(late);
          seat.isReady = true;
          httpPort = word.httpPort;
          for (const order of endings) tell(worker, order);
          if (isStarted) log.info({ worker: seat.number, workerPid: worker.process.pid }, "a worker is back");
          done();
        }
      });
      worker.on("error", (error) => log.warn({ worker: seat.number, error: String(error) }, "a worker cannot be reached"));
      worker.once("exit", (code, signal) => {
        clearTimeout(late);
        const isPartOfStart = !isStarted && !seat.isReady;
        seat.worker = null;
        seat.isReady = false;
        options.onEnd(seat.number);
        fail(failure ?? new Error(`worker ${seat.number} ended (${signal ?? code}) before it was ready`));
        if (!stopping && !isPartOfStart) onDeath(seat, signal ?? code, performance.now() - startedAt);
      });
    });
  }

  function onDeath(seat: Seat, how: string | number, livedMs: number): void {
    seat.waitMs = restartWait(seat.waitMs, livedMs);
    log.warn({ worker: seat.number, how, waitMs: seat.waitMs }, "a worker ended; it is started again");
    restarts.inc();
    seat.timer = setTimeout(() => {
      launch(seat).catch((error: unknown) => {
        if (!stopping) log.warn({ worker: seat.number, error: String(error) }, "a worker could not start");
      });
    }, seat.waitMs);
  }

  function answer(worker: Worker, word: Word): void {
    if (word.kind === "snapshot") questions.answer(word.id, word.metrics);
    if (word.kind !== "page") return;
    const { id } = word;
    void options.page().then(
      (page) => tell(worker, { kind: "page", id, page }),
      () => tell(worker, { kind: "page", id, page: null }),
    );
  }

  return {
    async start() {
      await Promise.all(seats.map(launch));
      isStarted = true;
      return httpPort;
    },
    async stop(interactive) {
      stopping = true;
      clearInterval(alive);
      for (const { timer } of seats) clearTimeout(timer);
      end({ kind: "stop", interactive });
      await endOf(living(), Math.min(options.drainMs + END_MS, LONGEST_MS));
    },
    hurry() {
      end({ kind: "hurry" });
      void endOf(living(), HURRIED_END_MS);
    },
    get ready() {
      return readyCount();
    },
    async snapshots() {
      const found = new Map<string, MetricsSnapshot>();
      const ask = async ({ number, worker, isReady }: Seat): Promise<void> => {
        if (worker === null || !isReady) return;
        const metrics = await questions.ask((id) => tell(worker, { kind: "snapshot", id })).catch(() => null);
        // Meanwhile it may have ended, and been counted as such.
        if (metrics !== null && seats[number - 1]?.worker === worker) found.set(String(number), metrics);
      };
      await Promise.all(seats.map(ask));
      return found;
    },
  };
}

/** As if it had been thrown here. */
function failureOf({ name, text, stack }: Extract<Word, { kind: "failed" }>): Error {
  const error = new Error(text);
  return Object.assign(error, { name, stack });
}

/** Waits until all have ended, and kills those that have not in time. */
async function endOf(workers: readonly Worker[], patienceMs: number): Promise<void> {
  const kill = setTimeout(() => {
    for (const worker of workers) worker.process.kill("SIGKILL");
  }, patienceMs).unref();
  await Promise.all(
    workers.map(
      (worker) =>
        new Promise<void>((done) => {
          if (worker.isDead()) done();
          else worker.once("exit", () => done());
        }),
    ),
  );
  clearTimeout(kill);
}
