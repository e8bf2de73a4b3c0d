import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Settings } from "@unigate/runtime";
import { loadOrMakeMasterKey } from "@unigate/secrets";
import { firstKeyLines } from "./banner.ts";
import { refuseEmbedded } from "./database.ts";
import { egressAllowFor } from "./egress-default.ts";
import { type ServiceName, type StartFacts, serviceNames } from "./module.ts";
import { modules } from "./modules.ts";
import { restartWait } from "./restart-wait.ts";

const START_MS = 60_000;

/** Eight processes that talk gRPC on loopback. */
export interface Mesh {
  readonly httpPort: number;
  readonly facts: StartFacts;
  /** Process ids by service, for tests that stop one. */
  pid(service: ServiceName): number | undefined;
  /** Where a service is called, for further processes that use it; undefined for the edge. */
  address(service: ServiceName): string | undefined;
  /** Edge first, then what it calls: leaves outlive edges. */
  stop(): Promise<void>;
  /** Ends running requests now. */
  hurry(): void;
}

export interface MeshOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly settings: Settings;
  onProgress(text: string): void;
  /** Start a service again when it dies (default true). */
  readonly restart?: boolean;
}

interface ReadyMessage extends StartFacts {
  readonly ready: true;
  readonly grpcAddress: string | null;
}

interface Member {
  readonly child: ChildProcess;
  readonly ready: ReadyMessage;
}

/** Starts every service, what is needed first. Fails, and stops what runs, when one does not come up. */
export async function launchMesh(options: MeshOptions): Promise<Mesh> {
  const { environment, settings } = options;
  refuseEmbedded(settings, "a mesh of eight processes");
  const masterKey =
    settings.masterKey?.reveal() ?? (await loadOrMakeMasterKey(join(resolve(settings.dataDir), "master.key"))).toString("base64");
  const token = settings.meshToken?.reveal() ?? randomBytes(24).toString("base64url");
  const egressAllow = await egressAllowFor(settings.host, settings.egressAllow);
  const members = new Map<ServiceName, Member>();
  /** Not ready yet. */
  const starting = new Set<ChildProcess>();
  const waits = new Map<ServiceName, number>();
  let stopping = false;

  function environmentOf(service: ServiceName): Record<string, string | undefined> {
    const own: Record<string, string | undefined> = {
      ...environment,
      UNIGATE_DATA_DIR: join(resolve(settings.dataDir), service),
      UNIGATE_GRPC_LISTEN: members.get(service)?.ready.grpcAddress ?? "127.0.0.1:0",
      UNIGATE_METRICS_PORT: "0",
      // Only the edge has a port that workers could share.
      UNIGATE_WORKERS: service === "edge" ? environment["UNIGATE_WORKERS"] : undefined,
      UNIGATE_MESH_TOKEN: token,
      UNIGATE_EGRESS_ALLOW: egressAllow,
    };
    if (service === "control" || service === "connector" || service === "guardrail") own["UNIGATE_MASTER_KEY"] = masterKey;
    for (const need of modules[service].needs)
      own[`UNIGATE_${need.toUpperCase()}_ADDR`] ??= members.get(need)?.ready.grpcAddress ?? undefined;
    return own;
  }

  async function start(service: ServiceName): Promise<void> {
    const child = forkService(service, environmentOf(service));
    const startedAt = performance.now();
    starting.add(child);
    const ready = await readyOf(service, child).finally(() => starting.delete(child));
    members.set(service, { child, ready });
    child.once("exit", (code, signal) => onEnd(service, code ?? signal, performance.now() - startedAt));
  }

  function onEnd(service: ServiceName, how: number | string | null, livedMs: number): void {
    if (stopping || options.restart === false) return;
    const waitMs = restartWait(waits.get(service) ?? 0, livedMs);
    waits.set(service, waitMs);
    options.onProgress(`${service} ended (${how}); starting it again in ${waitMs / 1_000} s`);
    setTimeout(() => {
      if (stopping) return;
      start(service).catch((error: unknown) => {
        if (stopping) return;
        options.onProgress(`${service} did not start again: ${String(error)}`);
        onEnd(service, "failed", 0);
      });
    }, waitMs);
  }

  function factsOfAll(): StartFacts {
    return Object.assign({}, ...[...members.values()].map((member) => member.ready)) as StartFacts;
  }

  async function stop(): Promise<void> {
    stopping = true;
    // One that serves nothing yet would outlive us.
    for (const child of starting) child.kill("SIGKILL");
    await endProcess(members.get("edge")?.child);
    await Promise.all([...members].filter(([service]) => service !== "edge").map(([, member]) => endProcess(member.child)));
  }

  try {
    for (const level of startLevels()) {
      options.onProgress(`starting ${level.join(", ")}`);
      await Promise.all(level.map(start));
    }
  } catch (error) {
    // Keys that control made are kept, and shown by no other start.
    for (const line of firstKeyLines(factsOfAll())) options.onProgress(line);
    await stop();
    throw error;
  }
  const facts = factsOfAll();
  return {
    httpPort: facts.httpPort ?? 0,
    facts,
    pid: (service) => members.get(service)?.child.pid,
    address: (service) => members.get(service)?.ready.grpcAddress ?? undefined,
    stop,
    hurry: () => void members.get("edge")?.child.kill("SIGTERM"),
  };
}

/** Services in rounds: each round needs only what earlier rounds started. */
function startLevels(): ServiceName[][] {
  const levels: ServiceName[][] = [];
  const started = new Set<ServiceName>();
  while (started.size < serviceNames.length) {
    const level = serviceNames.filter((name) => !started.has(name) && modules[name].needs.every((need) => started.has(need)));
    for (const name of level) started.add(name);
    levels.push(level);
  }
  return levels;
}

function forkService(service: ServiceName, env: Record<string, string | undefined>): ChildProcess {
  const main = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./main.ts" : "./main.js", import.meta.url));
  return fork(main, [`--target=${service}`], { env, stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: process.execArgv });
}

function readyOf(service: ServiceName, child: ChildProcess): Promise<ReadyMessage> {
  return new Promise((done, fail) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(new Error(`${service} did not start within ${START_MS / 1_000} s`));
    }, START_MS);
    child.once("message", (message) => {
      clearTimeout(timer);
      child.off("exit", onExit);
      done(message as ReadyMessage);
    });
    const onExit = (code: number | null): void => {
      clearTimeout(timer);
      fail(new Error(`${service} ended with code ${code} before it was ready`));
    };
    child.once("exit", onExit);
  });
}

/** SIGINT means "no wait for load balancers": there are none here. */
function endProcess(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((done) => {
    child.once("exit", () => done());
    child.kill("SIGINT");
  });
}
