import type { Cluster, ClusterOptions, DNSLookupFunction, Redis, RedisOptions } from "ioredis";
import type { RedisAddress } from "./address.ts";

const CONNECT_MS = 2_000;
/** A connection that gives nothing for this long while answers are due is replaced. */
const SILENCE_MS = 2_000;
const RECONNECT_MS = { first: 50, most: 2_000 };
const SLOTS_REFRESH_MS = 5_000;

export type RedisClient = Redis | Cluster;

/** A client that is not connected yet. It queues nothing: without a connection every command fails at once. */
export async function createClient(address: RedisAddress, name: string): Promise<RedisClient> {
  // Loading it takes more than 100 ms; who keeps everything in memory does not pay.
  // A bundle gives a CommonJS module by its default export alone.
  const { Cluster, Redis } = (await import("ioredis")).default;
  if (address.cluster) {
    const cluster = new Cluster([...address.nodes], clusterOptions(address, name));
    // Connected before it is needed: the first request on a node would not get through within its deadline.
    cluster.on("+node", (node: Redis) => void connectMaster(node));
    return cluster;
  }
  const { host, port } = address.nodes[0] ?? { host: "localhost", port: 6_379 };
  return new Redis({ ...nodeOptions(address, name), host, port, retryStrategy, enableOfflineQueue: false, lazyConnect: true });
}

/** Waits until every master that is known has been tried; a single Redis has nothing to wait for. */
export async function connectMasters(client: RedisClient): Promise<void> {
  if (client.isCluster) await Promise.all((client as Cluster).nodes("master").map(connectMaster));
}

async function connectMaster(node: Redis): Promise<void> {
  if (node.options.readOnly === true || node.status === "ready") return;
  const decided = new Promise<void>((resolve) => {
    for (const event of ["ready", "close", "end"]) node.once(event, () => resolve());
  });
  if (node.status === "wait") node.connect().catch(() => {});
  await decided;
}

function nodeOptions(address: RedisAddress, name: string) {
  return {
    ...(address.username === "" ? {} : { username: address.username }),
    ...(address.password === null ? {} : { password: address.password.reveal() }),
    ...(address.tls ? { tls: {} } : {}),
    db: address.database,
    connectionName: name,
    connectTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  } satisfies RedisOptions;
}

function clusterOptions(address: RedisAddress, name: string) {
  return {
    redisOptions: nodeOptions(address, name),
    clusterRetryStrategy: retryStrategy,
    clusterNodeRetryStrategy: retryStrategy,
    enableOfflineQueue: false,
    lazyConnect: true,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // Within the deadline or not at all.
    maxRedirections: 5,
    retryDelayOnFailover: 20,
    retryDelayOnClusterDown: 20,
    retryDelayOnTryAgain: 20,
    // Certificates name hosts: the name must reach the TLS layer as it stands.
    ...(address.tls ? { dnsLookup: ((host, found) => found(null, host)) satisfies DNSLookupFunction } : {}),
  } satisfies ClusterOptions;
}

/** 50 ms, doubled to 2 s at most; half of it by chance. Never gives up. */
function retryStrategy(times: number): number {
  const most = Math.min(RECONNECT_MS.most, RECONNECT_MS.first * 2 ** Math.min(times - 1, 10));
  return Math.ceil(most * (0.5 + Math.random() / 2));
}
