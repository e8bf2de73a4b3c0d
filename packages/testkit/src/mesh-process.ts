// A process that launches the built mesh, for startGateway: its services are started again when a test kills one only
// with --restart. --edges=4 starts three edges more, which use the same services.
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSettings, onStopSignals, readProcess } from "@unigate/runtime";

/** What is used of the product's launcher. It is reached by its path: no package depends on the host of all services. */
interface Launcher {
  readonly serviceNames: readonly string[];
  launchMesh(options: {
    readonly environment: Readonly<Record<string, string | undefined>>;
    readonly settings: unknown;
    onProgress(text: string): void;
    readonly restart: boolean;
  }): Promise<{
    readonly facts: object;
    pid(service: string): number | undefined;
    address(service: string): string | undefined;
    stop(): Promise<void>;
    hurry(): void;
  }>;
}

/** How often it is looked whether a service was started again. */
const PIDS_MS = 50;

async function main(): Promise<void> {
  const { environment, words } = readProcess();
  const home = new URL("../../../services/unigate/bin/index.js", import.meta.url);
  const launcher = (await import(home.href)) as Launcher;
  const mesh = await launcher.launchMesh({
    environment,
    settings: buildSettings(environment, undefined),
    onProgress: (text) => process.stderr.write(`${text}\n`),
    restart: words.includes("--restart"),
  });
  const pidsNow = () => Object.fromEntries(launcher.serviceNames.map((service) => [service, mesh.pid(service)]));
  let pids = pidsNow();
  const edges = await startEdges(environment, (service) => mesh.address(service), launcher.serviceNames, edgesOf(words) - 1);
  process.send?.({ ready: true, ...mesh.facts, pids, edges: edges.map(({ port, child }) => ({ port, pid: child.pid })) });
  // A service that was started again has another one.
  setInterval(() => {
    const now = pidsNow();
    if (launcher.serviceNames.every((service) => now[service] === pids[service])) return;
    pids = now;
    process.send?.({ pids });
  }, PIDS_MS).unref();
  const stop = (): void => {
    for (const { child } of edges) child.kill("SIGINT");
    void mesh.stop().then(() => process.exit(0));
  };
  onStopSignals(stop, () => mesh.hurry());
  process.once("disconnect", stop);
}

function edgesOf(words: readonly string[]): number {
  const word = words.find((one) => one.startsWith("--edges="));
  return word === undefined ? 1 : Number(word.slice("--edges=".length));
}

interface EdgeProcess {
  readonly port: number;
  readonly child: ChildProcess;
}

/** Edges beside the mesh's own: processes of the product as an operator starts them. */
function startEdges(
  environment: Readonly<Record<string, string | undefined>>,
  addressOf: (service: string) => string | undefined,
  services: readonly string[],
  count: number,
): Promise<EdgeProcess[]> {
  const addresses = Object.fromEntries(services.map((service) => [`UNIGATE_${service.toUpperCase()}_ADDR`, addressOf(service)]));
  const home = environment["UNIGATE_DATA_DIR"] ?? "";
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      startEdge({
        ...environment,
        ...addresses,
        PORT: "0",
        UNIGATE_DATA_DIR: join(home, `edge-${index + 2}`),
        UNIGATE_GRPC_LISTEN: "127.0.0.1:0",
        UNIGATE_METRICS_PORT: "0",
      }),
    ),
  );
}

function startEdge(env: Record<string, string | undefined>): Promise<EdgeProcess> {
  const main = fileURLToPath(new URL("../../../services/unigate/bin/main.js", import.meta.url));
  const child = fork(main, ["--target=edge"], { env, stdio: ["ignore", "inherit", "inherit", "ipc"], execArgv: [] });
  return new Promise((resolve, reject) => {
    child.once("message", (message) => resolve({ child, port: (message as { httpPort: number }).httpPort }));
    child.once("exit", (code) => reject(new Error(`an edge ended with ${code} before it was ready`)));
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
