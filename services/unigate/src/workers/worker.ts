import cluster from "node:cluster";
import { createLogger, createMetrics, Health, type MetricsPage, type Settings } from "@unigate/runtime";
import { endSoon } from "../end-soon.ts";
import { type RunningHost, type StopOptions, startHost } from "../host.ts";
import { logNameOf, wholePart } from "../part.ts";
import { type Assignment, isMessage, type Order, type Word } from "./messages.ts";
import { createPending, type Pending } from "./pending.ts";
import { splitServices } from "./split.ts";

const PAGE_MS = 5_000;
/** The primary says every second that it lives. */
const SILENCE_MS = 5_000;
/** Without a primary: how long requests may go on, and the spool may try, which rather stays on disk for the next start. */
const ORPHANED = { interactive: true, drainMs: 3_000, handOverMs: 1_000 };
const ORPHANED_END_MS = 20_000;

/** Runs the share of a worker until its primary ends it, or is gone. */
export async function runWorker(settings: Settings, { number, owner }: Assignment): Promise<void> {
  const { worker } = cluster;
  if (worker === undefined) throw new Error("UNIGATE_WORKER is set, which only a primary may do for the workers it starts; unset it");
  // They go to the whole group of processes; the primary tells what follows from them.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  const say = (word: Word, onSent: () => void = () => {}): void => {
    if (process.connected) process.send?.(word, undefined, undefined, onSent);
  };
  const pages = createPending<MetricsPage | null>("the primary", PAGE_MS);
  const own = createMetrics();
  const health = new Health();
  let heardAt = performance.now();
  health.add("primary", () => {
    if (!process.connected) return "it is gone";
    return performance.now() - heardAt > SILENCE_MS ? "it does not answer" : null;
  });

  const { names, primary, worker: services } = splitServices(settings);
  const addresses = { ...settings.addresses, ...Object.fromEntries(primary.map((name) => [name, owner])) };
  const starting = startHost(
    { ...settings, addresses },
    { ...wholePart(settings, names, null), services, listen: [], ownerSocket: owner, metricsPort: null },
    {
      log: createLogger(settings.logLevel, logNameOf(names), number),
      metrics: { ...own, page: () => askPage(pages, say) },
      health,
    },
  );
  const stop = async (options: StopOptions): Promise<void> => {
    await (await starting).stop(options);
    endSoon();
  };
  let toldToStop = false;
  const obey = (order: Order): void => {
    switch (order.kind) {
      case "alive":
        heardAt = performance.now();
        break;
      case "stop":
        // Told while it starts, it is told once more when it is ready.
        if (!toldToStop) stop({ interactive: order.interactive }).catch(giveUp);
        toldToStop = true;
        break;
      case "hurry":
        starting.then((host) => host.hurry(), giveUp);
        break;
      case "snapshot":
        // Without an answer the primary shows what it had before.
        own.snapshot().then(
          (metrics) => say({ kind: "snapshot", id: order.id, metrics }),
          () => {},
        );
        break;
      default:
        pages.answer(order.id, order.page);
    }
  };
  process.on("message", (message: unknown) => {
    if (isMessage(message)) obey(message as Order);
  });
  process.once("disconnect", () => {
    pages.drop();
    setTimeout(giveUp, ORPHANED_END_MS).unref();
    stop(ORPHANED).catch(giveUp);
  });
  worker.once("disconnect", () => {
    // Else node:cluster ends the process on the spot, with all that runs in it.
    worker.exitedAfterDisconnect = true;
  });

  let host: RunningHost;
  try {
    host = await starting;
  } catch (error) {
    const { name, message, stack = message } = error instanceof Error ? error : new Error(String(error));
    say({ kind: "failed", name, text: message, stack }, giveUp);
    return;
  }
  say({ kind: "ready", httpPort: host.facts.httpPort ?? 0 });
}

async function askPage(pages: Pending<MetricsPage | null>, say: (word: Word) => void): Promise<MetricsPage> {
  const page = await pages.ask((id) => say({ kind: "page", id }));
  if (page === null) throw new Error("the primary could not collect them");
  return page;
}

function giveUp(): void {
  process.exit(1);
}
