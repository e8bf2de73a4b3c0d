import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { removeFolder } from "./remove-folder.ts";

/** How the product runs: all services in one process, or each in a process of its own. */
export type GatewayMode = "single" | "mesh";
export const gatewayModes: readonly GatewayMode[] = ["single", "mesh"];

export type GatewayService = "control" | "logging" | "router" | "cache" | "policy" | "guardrail" | "connector" | "edge";

export interface GatewayOptions {
  readonly mode: GatewayMode;
  /** Content of unigate.yaml: its text, or what it says. */
  readonly config?: string | object;
  /** Settings over the defaults of a test: a free port of loopback and an empty data folder. Nothing else is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** A service of a mesh that dies is started again, as users have it. Default: it stays dead. */
  readonly restart?: boolean;
  /** `--workers` of one process; a mesh has none. */
  readonly workers?: number;
  /** Processes that run the edge of a mesh; all of them use the same other services. Default 1. */
  readonly edges?: number;
}

/** One process that clients may call. */
export interface GatewayEdge {
  readonly origin: string;
  readonly pid: number | undefined;
}

/** A running gateway: the built product, as users run it. */
export interface Gateway {
  readonly mode: GatewayMode;
  /** "http://127.0.0.1:<port>" */
  readonly origin: string;
  /** With "/v1", for SDKs. */
  readonly baseUrl: string;
  readonly port: number;
  /** Every process that clients may call; the first is the one of `origin`. */
  readonly edges: readonly GatewayEdge[];
  /** Made at this start; "" when the test gave one. */
  readonly adminKey: string;
  readonly workspaceKey: string;
  readonly dataDir: string;
  /** Its unigate.yaml, to be edited; it is there only when the test gave a config. */
  readonly configFile: string;
  /** All that its processes wrote to stdout and stderr so far. */
  output(): string;
  /** Process id of a service, the new one once it was started again; in one process it is the same for all. */
  pid(service: GatewayService): number | undefined;
  /** Sends a signal to the process of a service. */
  kill(service: GatewayService, signal: NodeJS.Signals): void;
  /**
   * Kills the process of a service of a mesh that restarts (`restart`). It stays down until the function that this
   * gives is called: the launcher is held meanwhile, and then does what it always does.
   */
  takeDown(service: GatewayService): () => void;
  /** Sends a signal to the process that a user starts: the one process, or the launcher of the mesh. */
  signal(signal: NodeJS.Signals): void;
  /** Resolves when every process has ended, with the code or the signal that the user's shell sees. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

interface ReadyMessage {
  readonly ready: true;
  readonly httpPort: number;
  readonly adminKey?: string;
  readonly workspaceKey?: string;
  readonly pids?: Readonly<Partial<Record<GatewayService, number>>>;
  /** Beside the first. */
  readonly edges?: readonly { readonly port: number; readonly pid?: number }[];
}

const START_MS = 60_000;
const STOP_MS = 20_000;
const MAIN = fileURLToPath(new URL("../../../services/unigate/bin/main.js", import.meta.url));
const MESH = fileURLToPath(new URL("../dist/mesh-process.js", import.meta.url));

/** Starts the built product (`npm run build` first) and waits until it is ready. Fails with its output when it does not start. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), "unigate-test-"));
  const dataDir = join(folder, "data");
  const env: Record<string, string> = {
    HOST: "127.0.0.1",
    PORT: "0",
    UNIGATE_DATA_DIR: dataDir,
    UNIGATE_LOG_LEVEL: "info",
    NODE_ENV: "production",
    // Edges beside the mesh's own must know it.
    ...(options.edges === undefined ? {} : { UNIGATE_MESH_TOKEN: randomBytes(24).toString("base64url") }),
    ...options.env,
  };
  const configFile = join(folder, "unigate.yaml");
  if (options.config !== undefined) {
    env["UNIGATE_CONFIG"] = configFile;
    writeFileSync(configFile, typeof options.config === "string" ? options.config : JSON.stringify(options.config));
  }
  const [script, words] =
    options.mode === "single"
      ? [MAIN, ["--target=all", ...(options.workers === undefined ? [] : [`--workers=${options.workers}`])]]
      : [MESH, [...(options.restart === true ? ["--restart"] : []), ...(options.edges === undefined ? [] : [`--edges=${options.edges}`])]];
  const child = fork(script, words, { env, execArgv: [], stdio: ["ignore", "pipe", "pipe", "ipc"], cwd: folder });
  const output = collectOutput(child);
  const ended = new Promise<number | NodeJS.Signals>((resolve) => child.once("close", (code, signal) => resolve(code ?? signal ?? 0)));
  const ready = await readyMessage(child, output).catch(async (error: unknown) => {
    child.kill("SIGKILL");
    await ended;
    removeFolder(folder);
    throw error;
  });

  let pids = ready.pids;
  child.on("message", (message) => {
    pids = (message as Pick<ReadyMessage, "pids">).pids;
  });
  const pid = (service: GatewayService): number | undefined => (pids === undefined ? child.pid : pids[service]);
  function kill(service: GatewayService, signal: NodeJS.Signals): void {
    const id = pid(service);
    if (id === undefined) throw new Error(`${service} has no process`);
    process.kill(id, signal);
  }
  const originOf = (port: number): string => `http://127.0.0.1:${port}`;
  const origin = originOf(ready.httpPort);
  return {
    mode: options.mode,
    origin,
    baseUrl: `${origin}/v1`,
    port: ready.httpPort,
    edges: [{ origin, pid: pid("edge") }, ...(ready.edges ?? []).map((edge) => ({ origin: originOf(edge.port), pid: edge.pid }))],
    adminKey: ready.adminKey ?? "",
    workspaceKey: ready.workspaceKey ?? "",
    dataDir,
    configFile,
    output,
    pid,
    kill,
    takeDown(service) {
      if (options.mode !== "mesh" || options.restart !== true) throw new Error("only a mesh that restarts can take a service down");
      child.kill("SIGSTOP");
      kill(service, "SIGKILL");
      return () => void child.kill("SIGCONT");
    },
    signal: (signal) => void child.kill(signal),
    ended,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGCONT");
        child.kill("SIGINT");
        const impatient = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
        await ended;
        clearTimeout(impatient);
      }
      removeFolder(folder);
    },
  };
}

function collectOutput(child: ChildProcess): () => string {
  const pieces: Buffer[] = [];
  const keep = (piece: Buffer): void => void pieces.push(piece);
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return () => Buffer.concat(pieces).toString("utf8");
}

function readyMessage(child: ChildProcess, output: () => string): Promise<ReadyMessage> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`the gateway ${why}; it wrote:\n${output()}`));
    const timer = setTimeout(() => fail(`was not ready within ${START_MS / 1_000} s`), START_MS);
    child.once("message", (message) => {
      clearTimeout(timer);
      resolve(message as ReadyMessage);
    });
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      fail(`ended with ${code ?? signal} before it was ready`);
    });
  });
}
