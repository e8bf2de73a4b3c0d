import { Secret } from "@unigate/core";

const DEFAULT_PORT = 6_379;

/** Where Redis is and who we are to it. */
export interface RedisAddress {
  /** One node, or the seeds of a cluster. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly cluster: boolean;
  readonly tls: boolean;
  /** "" = none. */
  readonly username: string;
  readonly password: Secret | null;
  readonly database: number;
}

/** An address that cannot be used. Its message never holds the address, which may hold a password. */
export class RedisAddressError extends Error {
  override readonly name = "RedisAddressError";
}

/**
 * Reads `redis[s]://[[user]:password@]host[:port][/database]`, or several of them with commas between, which are the
 * seeds of a cluster; after the first, `host:port` is enough. A comma in a password is written %2C.
 */
export function readRedisAddress(url: Secret, cluster = false): RedisAddress {
  const [first = "", ...others] = url
    .reveal()
    .split(",")
    .map((part) => part.trim());
  const parsed = [first, ...others.map((other) => (other.includes("://") ? other : `redis://${other}`))].map(parse);
  const [main] = parsed;
  if (main === undefined) throw new RedisAddressError("the Redis URL is empty");
  const several = cluster || parsed.length > 1;
  const database = Number(main.pathname.slice(1));
  if (!Number.isInteger(database)) throw new RedisAddressError("the path of the Redis URL is the number of a database, such as /0");
  if (several && database !== 0) throw new RedisAddressError("a Redis cluster has no databases: leave the path of the Redis URL out");
  return {
    nodes: parsed.map(({ hostname, port }) => ({
      host: hostname.replace(/^\[|\]$/g, ""),
      port: port === "" ? DEFAULT_PORT : Number(port),
    })),
    cluster: several,
    tls: main.protocol === "rediss:",
    username: decoded(main.username),
    password: main.password === "" ? null : new Secret(decoded(main.password)),
    database,
  };
}

function parse(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^rediss?:$/.test(url.protocol) && url.hostname !== "") return url;
  throw new RedisAddressError(
    "the Redis URL is not of the form redis://user:password@host:6379 or rediss:// (percent-encode the password)",
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RedisAddressError("user or password in the Redis URL are not percent-encoded");
  }
}
