import type { RedisAddress } from "./address.ts";
import { connectMasters, createClient, type RedisClient } from "./client.ts";
import { createGuard, type GuardStatistics } from "./guard.ts";

/** Deadline of an operation that names none (mesh 7). */
const DEFAULT_DEADLINE_MS = 75;
/** A start waits this long for the first connection, then goes on without. */
const START_MS = 2_000;

export interface RedisLinkOptions {
  readonly address: RedisAddress;
  /** Name of the connection in Redis's own list of clients. */
  readonly name: string;
  /** Told once when Redis is lost, with a reason that holds no secret, and once when it is back. */
  readonly onLost?: (why: string) => void;
  readonly onBack?: () => void;
  /** Of an operation that names none, ms. Default 75. */
  readonly deadlineMs?: number;
}

/** A connection to Redis, single or cluster. Nothing waits for a connection: without one every operation fails at once. */
export interface RedisLink {
  /** One operation. Rejects with StoreLostError only. */
  run<T>(operation: (client: RedisClient) => Promise<T>, deadlineMs?: number): Promise<T>;
  /** Names a script for `callScript`; it is sent once a connection, then called by its digest. */
  defineScript(name: string, lua: string, keys: number): void;
  /** Keys first, then arguments. */
  callScript(name: string, words: readonly (string | number)[]): Promise<unknown>;
  statistics(): GuardStatistics;
  close(): void;
}

/** Connects, and gives the link when Redis is ready or after 2 s: what needs it goes on without it. */
export async function openRedis(options: RedisLinkOptions): Promise<RedisLink> {
  const { address, onLost = () => {}, onBack = () => {} } = options;
  const describe = (error: unknown): string => describeError(error, address);
  let closed = false;
  const guard = createGuard({
    deadlineMs: options.deadlineMs ?? DEFAULT_DEADLINE_MS,
    describe,
    onLost: (why) => closed || onLost(why),
    onBack: () => closed || onBack(),
  });
  const client = await createClient(address, options.name);
  let why = "the connection was closed";
  client.on("error", (error: unknown) => {
    why = describe(error);
  });
  client.on("node error", (error: unknown) => {
    why = describe(error);
  });
  client.on("ready", () => guard.restored());
  client.on("close", () => guard.lost(why));
  await firstConnection(client, () => guard.lost(`${why}; not connected after ${START_MS} ms`));

  const call: Record<string, (...words: (string | number)[]) => Promise<unknown>> = {};
  return {
    run: (operation, deadlineMs) => guard.run(() => operation(client), deadlineMs),
    defineScript(name, lua, keys) {
      client.defineCommand(name, { lua, numberOfKeys: keys });
      const defined: unknown = Reflect.get(client, name);
      if (typeof defined === "function") call[name] = (...words) => Reflect.apply(defined, client, words);
    },
    callScript(name, words) {
      const defined = call[name];
      if (defined === undefined) throw new Error(`there is no script ${name}`);
      return guard.run(() => defined(...words));
    },
    statistics: guard.statistics,
    close() {
      closed = true;
      client.disconnect();
    },
  };
}

async function firstConnection(client: RedisClient, onLate: () => void): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      onLate();
      resolve();
    }, START_MS);
  });
  const ready = new Promise<void>((resolve) => client.once("ready", () => resolve())).then(() => connectMasters(client));
  // A failed first try is retried like any later one.
  client.connect().catch(() => {});
  await Promise.race([ready, late]);
  clearTimeout(timer);
}

/** The message alone: the error itself carries the command, and that of AUTH carries the password. */
function describeError(error: unknown, address: RedisAddress): string {
  const { lastNodeError } = error as { lastNodeError?: unknown };
  const message = lastNodeError instanceof Error ? lastNodeError.message : error instanceof Error ? error.message : String(error);
  if (/enableOfflineQueue/.test(message)) return "not connected";
  const shown = address.password === null ? message : message.replaceAll(address.password.reveal(), "[secret]");
  return /^MOVED\b/.test(shown) ? `${shown} (this is a cluster: set UNIGATE_REDIS_CLUSTER=true)` : shown;
}
