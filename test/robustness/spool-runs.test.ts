import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { LoggingDefinition } from "@unigate/contracts";
import type { JsonObject } from "@unigate/core";
import { createLoggingService, createLogStore, type LogStore, type MemoryLogStore } from "@unigate/logging";
import { openChannel, serveGrpc } from "@unigate/rpc";
import { appendDelivery, createSpool } from "@unigate/spool";
import { startWeatherProxy, until, type WeatherProxy } from "@unigate/testkit";
import { expect } from "vitest";
import { type ClientSide, expectKept, type History, logSideOf, type UpstreamSide } from "./history.ts";
import { pause } from "./pause.ts";
import { randomOf, seededRuns } from "./seeded.ts";

// The real spool, its delivery over gRPC and the real logging service. A process that writes records is killed at a
// moment that the seed chooses, while the way to logging or its store has weather of its own; another process takes over
// what it left.

const CHILD = fileURLToPath(new URL("spool-process.mjs", import.meta.url));
/** Promised are ten; the child's clock is a coarse one. */
const GRACE_MS = 15;
const QUIET = { info() {}, warn() {} };

seededRuns("a spool whose process is killed", { share: 0.6, lanes: 2, timeoutMs: 300_000 }, async (seed) => {
  const random = randomOf(seed);
  const dir = await mkdtemp(join(tmpdir(), "unigate-runs-"));
  const memory = createLogStore();
  const trouble = { isAway: false };
  const service = createLoggingService({ store: withTrouble(memory, trouble), log: QUIET });
  const server = await serveGrpc({ listen: "127.0.0.1:0", services: [{ definition: LoggingDefinition, implementation: service }] });
  const proxy = await startWeatherProxy(server.address);
  try {
    const ending = random.oneOf(["killed", "killed", "killed", "paused and killed", "closed"]);
    const words = [dir, proxy.address, String(seed), String(random.between(30, 60)), ending === "closed" ? "close" : "stay"];
    const child = spawn(process.execPath, [CHILD, ...words], { stdio: ["ignore", "pipe", "inherit"] });
    const told = listenTo(child);
    const ended = once(child, "close");
    await until("the first request", () => told.client.size > 0);
    const weather = makeWeather(random.oneOf(WEATHERS), random.between(0, 60), random.between(5, 120), proxy, trouble);
    if (ending !== "closed") {
      await pause(random.between(5, 150));
      if (ending === "paused and killed") {
        child.kill("SIGSTOP");
        await pause(random.between(5, 60));
      }
      child.kill("SIGKILL");
    }
    await ended;
    await weather;
    await adopt(dir, proxy.address);
    const history = told.history(ending !== "closed", memory);
    expectKept(history);
    const stored = history.log.filter(({ outcome }) => outcome !== "interrupted").length;
    expect(stored, "what the kernel had is stored").toBeGreaterThanOrEqual(told.written());
  } finally {
    await proxy.close();
    await server.drain(0);
    await rm(dir, { recursive: true, force: true });
  }
});

/** A child's story, put together from what it told. */
function listenTo(child: ChildProcess) {
  const client = new Map<string, { startedAt: number; endedAt: number | null }>();
  const upstream: UpstreamSide[] = [];
  let [written, lastWord] = [0, 0];
  if (child.stdout === null) throw new Error("the child cannot be heard");
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [what = "", trace = "", time = "", more = "", end = ""] = line.split(" ");
    // A line that was cut off by the kill tells nothing.
    if (end !== ".") return;
    const at = Number(time);
    lastWord = at;
    if (what === "alive") written = Number(more);
    else if (what === "started") client.set(trace, { startedAt: at, endedAt: null });
    else if (what === "tried") upstream.push({ trace, target: more, at });
    else if (what === "ended") client.set(trace, { startedAt: client.get(trace)?.startedAt ?? at, endedAt: at });
  });
  return {
    client,
    written: () => written,
    history(wasKilled: boolean, memory: MemoryLogStore): History {
      const requests = [...client].map(
        ([trace, { startedAt, endedAt }]): ClientSide => ({
          trace,
          startedAt,
          endedAt: endedAt ?? lastWord,
          status: endedAt === null ? null : 200,
        }),
      );
      const log = memory.all().map(({ head }) => logSideOf(JSON.parse(head) as JsonObject));
      return { client: requests, upstream, log, killedAt: wasKilled ? [lastWord] : [], graceMs: GRACE_MS };
    },
  };
}

const WEATHERS = ["fair", "fair", "stall", "cut", "reset", "stop", "delay", "store"] as const;

async function makeWeather(
  kind: (typeof WEATHERS)[number],
  after: number,
  lasts: number,
  proxy: WeatherProxy,
  trouble: { isAway: boolean },
): Promise<void> {
  if (kind === "fair") return;
  await pause(after);
  if (kind === "stall") proxy.stall(true);
  else if (kind === "delay") proxy.delay(20);
  else if (kind === "store") trouble.isAway = true;
  else if (kind === "stop") await proxy.stop();
  else proxy[kind]();
  await pause(lasts);
  proxy.stall(false);
  proxy.delay(0);
  trouble.isAway = false;
  if (kind === "stop") await proxy.start();
}

/** A store that now and then cannot be used: before it kept what it was given, or after. */
function withTrouble(store: MemoryLogStore, trouble: { readonly isAway: boolean }): LogStore {
  let failures = 0;
  return {
    ...store,
    async add(records) {
      if (!trouble.isAway) return store.add(records);
      failures += 1;
      if (failures % 2 === 0) await store.add(records);
      throw new Error("the store is away");
    },
  };
}

/** Another process's spool on the same folder: it delivers what was left, until nothing is there. */
async function adopt(dir: string, address: string): Promise<void> {
  const channel = openChannel({ address });
  const delivery = appendDelivery(channel.port(LoggingDefinition).append);
  const spool = createSpool({ dir, deliver: delivery.deliver, log: QUIET, limits: { rescanMs: 10, backoffMs: 5, maxBackoffMs: 40 } });
  try {
    // A folder is taken over by moving it, and while it moves a look may find it in neither place.
    let empty = 0;
    await until("the folder to be taken over and delivered", async () => {
      const others = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith(".segment"));
      empty = others.length === 0 && spool.stats().records === 0 ? empty + 1 : 0;
      return empty === 3;
    });
  } finally {
    await spool.close();
    await delivery.close();
    channel.close();
  }
}
