// A process that launches the built mesh, for startGateway: its services are started again when a test kills one only
// with --restart.
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
    stop(): Promise<void>;
    hurry(): void;
  }>;
}

/** How often it is looked whether a service was started again. */
const PIDS_MS = 50;

async function main(): Promise<void> {
  const { environment, words } = readProcess();
  const home = new URL("../../../services/unigate/dist/index.js", import.meta.url);
  const launcher = (await import(home.href)) as Launcher;
  const mesh = await launcher.launchMesh({
    environment,
    settings: buildSettings(environment, undefined),
    onProgress: (text) => process.stderr.write(`${text}\n`),
    restart: words.includes("--restart"),
  });
  const pidsNow = () => Object.fromEntries(launcher.serviceNames.map((service) => [service, mesh.pid(service)]));
  let pids = pidsNow();
  process.send?.({ ready: true, ...mesh.facts, pids });
  // A service that was started again has another one.
  setInterval(() => {
    const now = pidsNow();
    if (launcher.serviceNames.every((service) => now[service] === pids[service])) return;
    pids = now;
    process.send?.({ pids });
  }, PIDS_MS).unref();
  const stop = (): void => {
    void mesh.stop().then(() => process.exit(0));
  };
  onStopSignals(stop, () => mesh.hurry());
  process.once("disconnect", stop);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
