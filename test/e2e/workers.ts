import { execFileSync } from "node:child_process";
import { request as httpRequest } from "node:http";
import { type Gateway, type GatewayOptions, startGateway, startUpstream, type Upstream, until } from "@unigate/testkit";
import { request } from "undici";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { openConnection, QUESTION, type RawConnection, requestHead, target, withConfig } from "./http.ts";

const HOUR_MS = 3_600_000;

/** Limits an hour are counted from its begin: what is counted together must not begin right before its end. */
export async function hourWithTime(): Promise<void> {
  await until("an hour that lasts a while", () => Date.now() % HOUR_MS < HOUR_MS - 30_000, 40_000);
}

/** Process ids of the workers of a gateway that run now. */
export function workersOf(gateway: Gateway): number[] {
  const primary = String(gateway.pid("control"));
  return execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([pid, parent, state]) => (parent === primary && state !== undefined && !state.startsWith("Z") ? [Number(pid)] : []));
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The answer to a GET over a connection of its own, so that any worker may give it. */
export async function freshGet(gateway: Gateway, path: string): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await request(gateway.origin + path, { reset: true });
  return { status: answer.statusCode, text: await answer.body.text() };
}

/** The samples of a metric by the text of their labels. */
export async function metricOf(gateway: Gateway, name: string): Promise<Record<string, number>> {
  const { text } = await freshGet(gateway, "/metrics");
  const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(lines.map((line) => [line.slice(name.length, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]));
}

export function sum(samples: Readonly<Record<string, number>>): number {
  return Object.values(samples).reduce((total, value) => total + value, 0);
}

/** Gateways with workers, and an upstream, for one suite. */
export interface WorkersStage {
  readonly upstream: Upstream;
  start(workers: number, over?: Partial<GatewayOptions>): Promise<Gateway>;
  stopAll(): Promise<void>;
  /** A chat call over a connection of its own: its status, or the code of what went wrong. */
  chat(gateway: Gateway, key: string, traceId?: string): Promise<number | string>;
  /** A chat call over a connection that the client keeps open. */
  ask(gateway: Gateway, key: string, traceId: string, body: object): RawConnection;
}

export function useWorkers(): WorkersStage {
  let started: Upstream | null = null;
  const gateways: Gateway[] = [];
  const connections: RawConnection[] = [];
  const upstream = (): Upstream => {
    if (started === null) throw new Error("the stage is used before its suite began");
    return started;
  };
  const headersOf = (key: string, traceId: string): Record<string, string> => ({
    "x-gateway-api-key": key,
    "content-type": "application/json",
    ...(traceId === "" ? {} : { "x-gateway-trace-id": traceId }),
    ...withConfig(target(upstream().origin)),
  });
  async function stopAll(): Promise<void> {
    for (const gateway of gateways.splice(0)) await gateway.stop();
  }
  beforeAll(async () => {
    started = await startUpstream();
  });
  beforeEach(() => upstream().reset());
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.leave();
  });
  afterAll(async () => {
    await stopAll();
    await started?.close();
  });
  return {
    get upstream() {
      return upstream();
    },
    async start(workers, over = {}) {
      const gateway = await startGateway({ mode: "single", workers, ...over });
      gateways.push(gateway);
      return gateway;
    },
    stopAll,
    chat: (gateway, key, traceId = "") =>
      new Promise((done) => {
        // Not by a client with a limit for connecting: of many at once on a busy machine some wait long.
        const options = { method: "POST", agent: false, headers: headersOf(key, traceId) };
        const sent = httpRequest(`${gateway.origin}/v1/chat/completions`, options, (answer) => {
          answer.resume();
          answer.once("close", () => done(answer.complete ? (answer.statusCode ?? 0) : "ECONNRESET"));
        });
        sent.once("error", (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
        sent.end(JSON.stringify(QUESTION));
      }),
    ask(gateway, key, traceId, body) {
      const text = JSON.stringify({ ...QUESTION, ...body });
      const connection = openConnection(gateway);
      connections.push(connection);
      connection.write(
        requestHead("POST /v1/chat/completions", { ...headersOf(key, traceId), "content-length": String(text.length) }) + text,
      );
      return connection;
    },
  };
}
