import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { removeFolder } from "./remove-folder.ts";
import { until } from "./until.ts";

/** A Redis of one suite alone, which may be stopped, paused and killed. It forgets nothing that it has answered. */
export interface RedisServer {
  readonly url: string;
  /** It stands still; connections stay. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  /** Starts it again where it was, with what it knew. */
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

/** Starts `program` (a redis-server) on a free port of loopback. */
export async function startRedisServer(program: string): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "unigate-redis-"));
  const port = await freePort();
  const words = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder];
  const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  let child: ChildProcess | null = null;

  async function start(): Promise<void> {
    const running = spawn(program, [...words, ...durable], { stdio: "ignore" });
    child = running;
    await until("redis-server to answer", () => {
      if (running.exitCode !== null) throw new Error(`redis-server ended with ${running.exitCode}`);
      return answers(port);
    });
  }
  async function kill(): Promise<void> {
    const running = child;
    child = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const exited = once(running, "exit");
    running.kill("SIGKILL");
    await exited;
  }

  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    kill,
    start,
    async close() {
      await kill();
      removeFolder(folder);
    },
  };
}

/** It answers PING once it has read what it kept. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.on("data", (bytes) => {
      resolve(String(bytes).startsWith("+PONG"));
      socket.destroy();
    });
    socket.on("error", () => resolve(false));
    socket.on("close", () => resolve(false));
  });
}
