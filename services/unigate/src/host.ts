import { type GrpcServer, serveGrpc } from "@unigate/rpc";
import { createLogger, createMetrics, Health, type Logger, type Metrics, type Settings, serveHealth } from "@unigate/runtime";
import type { Sealer } from "@unigate/secrets";
import { createConnections } from "./connect.ts";
import { ownDataDir } from "./data-dir.ts";
import { openDatabase } from "./database.ts";
import { openSealer } from "./master-key.ts";
import { type MeshAccess, openMeshAccess } from "./mesh/access.ts";
import type { Host, RunningService, ServiceName, StartFacts } from "./module.ts";
import { modules, startOrder } from "./modules.ts";
import { logNameOf, type Part, wholePart } from "./part.ts";
import { version } from "./version.ts";

/** Time for load balancers to see that the process is not ready any more. */
const UNREADY_MS = 5_000;
const HAND_OVER_MS = 10_000;

/** How a process ends. */
export interface StopOptions {
  /** No wait for load balancers. */
  readonly interactive: boolean;
  /** How long running requests may go on, ms; default UNIGATE_DRAIN_SECONDS. */
  readonly drainMs?: number;
  /** How long the spool may try to get rid of its records, ms; default 10,000. */
  readonly handOverMs?: number;
}

/** A process with its services running. */
export interface RunningHost {
  readonly services: readonly ServiceName[];
  readonly facts: StartFacts & { readonly grpcAddress: string | null; readonly metricsPort: number | null };
  /** The whole of mesh.md section 11: unready, wait, stop accepting, drain, hand over. */
  stop(options: StopOptions): Promise<void>;
  /** A second signal: running work is ended now. */
  hurry(): void;
}

/** What a process tells of itself. */
export interface Signs {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
}

/** Starts the services that the settings ask for, in this process alone. */
export async function startAlone(settings: Settings): Promise<RunningHost> {
  const names = startOrder(settings.targets, settings.addresses);
  const signs = { log: createLogger(settings.logLevel, logNameOf(names)), metrics: createMetrics(), health: new Health() };
  return startHost(settings, wholePart(settings, names, await ownDataDir(settings.dataDir)), signs);
}

/** Starts the services of a part. Stops them again when one fails, and lets go of the data folder. */
export async function startHost(settings: Settings, part: Part, signs: Signs): Promise<RunningHost> {
  const names = part.services;
  const { log, metrics, health } = signs;
  const running = new Map<ServiceName, RunningService>();
  let stopping = false;
  let endWait = (): void => {};
  health.add("process", () => (stopping ? "shutting down" : null));
  let sealer: Promise<Sealer> | null = null;
  const release = async (error: unknown): Promise<never> => {
    await part.dataDir?.release();
    throw error;
  };
  const access = await openMeshAccess(settings, part, signs).catch(release);
  const connections = createConnections(settings, access, running);
  const database = await openDatabase(settings, part.dataDir === null ? null : settings.dataDir, log).catch((error: unknown) => {
    access.close();
    return release(error);
  });
  const host: Host = {
    settings,
    version,
    log,
    metrics,
    health,
    database,
    connect: connections.connect,
    sealer: () => (sealer ??= openSealer(settings, part.isWhole)),
  };

  const grpc: GrpcServer[] = [];
  let healthServer: Awaited<ReturnType<typeof serveHealth>> | null = null;
  const drainGrpc = async (ms: number): Promise<void> => void (await Promise.all(grpc.map((server) => server.drain(ms))));
  const stopAll = async (): Promise<void> => {
    for (const name of names.toReversed()) await running.get(name)?.stop?.();
    connections.close();
    access.close();
    await healthServer?.close();
    await database?.close();
    await part.dataDir?.release();
  };

  try {
    for (const name of names) running.set(name, await modules[name].start(host));
    for (const address of part.listen) {
      const server = await serveServices(settings, address, access, names, running, log);
      if (server !== null) grpc.push(server);
    }
    if (part.metricsPort !== null) healthServer = await serveHealth(settings.host, part.metricsPort, health, metrics);
    for (const server of grpc) server.setServing(true);
  } catch (error) {
    await drainGrpc(0);
    await stopAll();
    throw error;
  }

  const facts: StartFacts = Object.assign({}, ...[...running.values()].map((service) => service.facts ?? {}));
  return {
    services: names,
    facts: { ...facts, grpcAddress: grpc[0]?.address ?? null, metricsPort: healthServer?.port ?? null },
    hurry() {
      endWait();
      for (const service of running.values()) service.hurry?.();
    },
    async stop({ interactive, drainMs = settings.drainSeconds * 1_000, handOverMs = HAND_OVER_MS }) {
      if (stopping) return;
      stopping = true;
      for (const server of grpc) server.setServing(false);
      if (!interactive) {
        await new Promise<void>((resolve) => {
          endWait = resolve;
          setTimeout(resolve, UNREADY_MS).unref();
        });
      }
      for (const service of running.values()) service.stopAccepting?.();
      await running.get("edge")?.drain?.(drainMs, handOverMs);
      await drainGrpc(drainMs);
      await Promise.race([stopAll(), new Promise((resolve) => setTimeout(resolve, HAND_OVER_MS).unref())]);
    },
  };
}

/** Everything served from here, on one gRPC server. */
function serveServices(
  settings: Settings,
  listen: string,
  access: MeshAccess,
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
  const trust = access.serving(listen);
  if (trust.authenticate === undefined && !listen.startsWith("unix:"))
    log.warn("no mesh token and no certificates: gRPC listens on loopback only and any local process may call");
  return serveGrpc({
    listen,
    services,
    bodyLimit: settings.bodyLimit,
    maxRequestMs: settings.maxRequestSeconds * 1_000,
    ...trust,
    onFault: (error, method) =>
      log.error({ method, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, "gRPC handler failed"),
  });
}
