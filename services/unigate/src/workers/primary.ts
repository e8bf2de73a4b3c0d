import { join } from "node:path";
import { createLogger, createMetrics, Health, type MetricsPage, type Settings } from "@unigate/runtime";
import { ownDataDir, removeSocket } from "../data-dir.ts";
import { type RunningHost, startHost } from "../host.ts";
import { logNameOf, wholePart } from "../part.ts";
import { collectMetrics } from "./collected-metrics.ts";
import { createCrew } from "./crew.ts";
import { splitServices } from "./split.ts";

/**
 * Starts what has state in this process, and `count` workers beside it that share the HTTP port and reach this one over
 * a unix socket. To the outside it is what one process is.
 */
export async function startPrimary(settings: Settings, count: number): Promise<RunningHost> {
  const { names, primary } = splitServices(settings);
  const dataDir = await ownDataDir(settings.dataDir);
  const socket = join(dataDir.run, "owner.sock");
  // A killed owner left it; nobody but the owner of the folder makes it.
  removeSocket(socket);
  const owner = `unix:${socket}`;
  const health = new Health();
  const log = createLogger(settings.logLevel, logNameOf(names));
  const own = createMetrics();
  let stopping = false;
  const crew = createCrew({
    count,
    owner,
    port: settings.port,
    drainMs: settings.drainSeconds * 1_000,
    log,
    metrics: own,
    page: (): Promise<MetricsPage> => collected.page(),
    onEnd: (number) => collected.ended(String(number)),
  });
  const collected = collectMetrics(own, () => crew.snapshots());
  health.add("workers", () => (stopping ? "shutting down" : crew.ready === 0 ? "none is ready" : null));

  const whole = wholePart(settings, names, dataDir);
  const part = { ...whole, services: primary, listen: [...whole.listen, owner], ownerSocket: owner };
  const host = await startHost(settings, part, { log, metrics: { ...own, page: collected.page }, health });
  const stop = async (interactive: boolean): Promise<void> => {
    stopping = true;
    await crew.stop(interactive);
    // Nobody calls any more.
    await host.stop({ interactive: true });
  };
  const httpPort = await crew.start().catch(async (error: unknown) => {
    await stop(true);
    throw error;
  });
  return {
    services: names,
    facts: { ...host.facts, grpcAddress: whole.listen.length === 0 ? null : host.facts.grpcAddress, httpPort },
    async stop({ interactive }) {
      if (!stopping) await stop(interactive);
    },
    hurry: () => crew.hurry(),
  };
}
