import type { Server } from "@grpc/grpc-js";
import type { RunningCalls } from "./running-calls.ts";

/** After the drain time handlers get this long to say goodbye in their own way, for instance by a last message. */
const GOODBYE_MS = 1_000;
/** For the last frames to leave the process. */
const FLUSH_MS = 250;

/**
 * Stops accepting; running calls have `ms` to end, are then told of the shutdown, then ended, and at last connections
 * are cut. Clients that watch the health keep a stream open for ever: only calls are waited for.
 */
export async function drainServer(
  server: Server,
  { empty, cut }: { empty(): Promise<void>; cut(): void },
  running: RunningCalls,
  ms: number,
): Promise<void> {
  const shut = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
  // By Node 26 grpc-js does not wait for connections that it was handed.
  const closed = Promise.all([shut, empty()]);
  const over = Promise.race([closed, running.none()]);
  if (!(await within(over, ms))) {
    running.announceShutdown();
    await within(over, GOODBYE_MS);
    running.shutDown();
  }
  if (await within(closed, FLUSH_MS)) return;
  // forceShutdown alone knows no connections while channelz is off.
  cut();
  server.forceShutdown();
}

async function within(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const done = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return done;
}
