import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { type GrpcServer, meshToken, serveGrpc } from "@unigate/rpc";
import { createLogger, createMetrics, Health, type Settings, serveHealth } from "@unigate/runtime";
import { createSealer, loadOrMakeMasterKey, parseMasterKey, type Sealer } from "@unigate/secrets";
import { createConnections } from "./connect.ts";
import { ownDataDir } from "./data-dir.ts";
import type { Host, RunningService, ServiceName, StartFacts } from "./module.ts";
import { modules, startOrder } from "./modules.ts";
import { version } from "./version.ts";

const DEFAULT_METRICS_PORT = 9090;
/** Time for load balancers to see that the process is not ready any more. */
const UNREADY_MS = 5_000;
const HAND_OVER_MS = 10_000;

/** A process with its services running. */
export interface RunningHost {
  readonly services: readonly ServiceName[];
  readonly facts: StartFacts & { readonly grpcAddress: string | null; readonly metricsPort: number | null };
  /** The whole of mesh.md section 11: unready, wait, stop accepting, drain, hand over. */
  stop(options: { readonly interactive: boolean }): Promise<void>;
  /** A second signal: running work is ended now. */
  hurry(): void;
}

/** Starts the services that the settings ask for, in the order of their needs. Stops them again when one fails. */
export async function startHost(settings: Settings): Promise<RunningHost> {
  const names = startOrder(settings.targets, settings.addresses);
  const single = names.length === Object.keys(modules).length;
  const log = createLogger(settings.logLevel, single ? "unigate" : names.join("+"));
  const metrics = createMetrics();
  const health = new Health();
  const running = new Map<ServiceName, RunningService>();
  const connections = createConnections(settings, running);
  const lock = await ownDataDir(settings.dataDir);
  let stopping = false;
  let endWait = (): void => {};
  health.add("process", () => (stopping ? "shutting down" : null));
  let sealer: Promise<Sealer> | null = null;
  const host: Host = {
    settings,
    version,
    log,
    metrics,
    health,
    connect: connections.connect,
    sealer: () => (sealer ??= openSealer(settings, single)),
  };

  let grpc: GrpcServer | null = null;
  let healthServer: Awaited<ReturnType<typeof serveHealth>> | null = null;
  const stopAll = async (): Promise<void> => {
    for (const name of names.toReversed()) await running.get(name)?.stop?.();
    connections.close();
    await healthServer?.close();
    await lock.release();
  };

  try {
    for (const name of names) running.set(name, await modules[name].start(host));
    if (!single) {
      grpc = await serveServices(settings, names, running, log);
      healthServer = await serveHealth(settings.host, settings.metricsPort ?? DEFAULT_METRICS_PORT, health, metrics);
    } else if (settings.metricsPort !== null) {
      healthServer = await serveHealth(settings.host, settings.metricsPort, health, metrics);
    }
  } catch (error) {
    await grpc?.drain(0);
    await stopAll();
    throw error;
  }

  const facts: StartFacts = Object.assign({}, ...[...running.values()].map((service) => service.facts ?? {}));
  return {
    services: names,
    facts: { ...facts, grpcAddress: grpc?.address ?? null, metricsPort: healthServer?.port ?? null },
    hurry() {
      endWait();
      for (const service of running.values()) service.hurry?.();
    },
    async stop({ interactive }) {
      if (stopping) return;
      stopping = true;
      grpc?.setServing(false);
      if (!interactive) {
        await new Promise<void>((resolve) => {
          endWait = resolve;
          setTimeout(resolve, UNREADY_MS).unref();
        });
      }
      for (const service of running.values()) service.stopAccepting?.();
      const patience = settings.drainSeconds * 1_000;
      await running.get("edge")?.drain?.(patience);
      await grpc?.drain(patience);
      await Promise.race([stopAll(), new Promise((resolve) => setTimeout(resolve, HAND_OVER_MS).unref())]);
    },
  };
}

/** Everything served from here, on one gRPC server. */
function serveServices(
  settings: Settings,
  names: readonly ServiceName[],
  running: ReadonlyMap<ServiceName, RunningService>,
  log: Host["log"],
): Promise<GrpcServer | null> {
  const services = names.flatMap((name) => {
    const { definition } = modules[name];
    const implementation = running.get(name)?.implementation;
    return definition === null || implementation === undefined || implementation === null
      ? []
      : [{ definition, implementation: implementation as never }];
  });
  if (services.length === 0) return Promise.resolve(null);
  if (settings.meshToken === null)
    log.warn("no mesh token and no certificates: gRPC listens on loopback only and any local process may call");
  return serveGrpc({
    listen: settings.grpcListen,
    services,
    bodyLimit: settings.bodyLimit,
    maxRequestMs: settings.maxRequestSeconds * 1_000,
    ...(settings.meshToken === null ? {} : { authenticate: meshToken(settings.meshToken).authenticate }),
    onFault: (error, method) =>
      log.error({ method, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, "gRPC handler failed"),
  });
}

/** In one process a key file is made; in a mesh the key must be given, or services could not open each other's secrets. */
async function openSealer(settings: Settings, single: boolean): Promise<Sealer> {
  if (settings.masterKey !== null) return createSealer(parseMasterKey(settings.masterKey.reveal()));
  if (!single)
    throw new Error(
      "UNIGATE_MASTER_KEY is required where control, connector and guardrail run apart: set the same 32 bytes (base64 or hex) for all of them",
    );
  const file = join(settings.dataDir, "master.key");
  const key = await loadOrMakeMasterKey(file);
  if (existsSync(file)) chmodSync(file, 0o600);
  return createSealer(key);
}
