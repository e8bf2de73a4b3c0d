import { type ChannelOptions, type GrpcServer, openChannel, type ServeOptions, serveGrpc } from "@unigate/rpc";
import { afterEach, describe, expect, test } from "vitest";
import { batch, deferred, EchoDefinition, type EchoPort, echo, newCall, times } from "./echo-service.ts";

/** Due many times within a test. */
const KEEPALIVE_MS = 40;
const AGE_MS = 200;

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** A server that knows the connections its calls came over, and how long one of its answers lasts. */
interface OneServer extends GrpcServer {
  readonly connections: Set<string>;
  /** Ends the answers of `list`. */
  end(): void;
}

async function serve(options: Partial<ServeOptions> = {}): Promise<OneServer> {
  const connections = new Set<string>();
  const ended = deferred();
  const implementation: EchoPort = {
    ...echo,
    async *list() {
      yield batch(1);
      await ended.promise;
      yield batch(2);
    },
  };
  const server = await serveGrpc({
    listen: "127.0.0.1:0",
    services: [{ definition: EchoDefinition, implementation }],
    keepaliveMs: KEEPALIVE_MS,
    authenticate(peer) {
      connections.add(peer.address());
      return null;
    },
    ...options,
  });
  cleanups.push(() => server.drain(0));
  return { ...server, connections, end: ended.resolve };
}

function portAt(address: string, options: Partial<ChannelOptions> = {}): EchoPort {
  const channel = openChannel({ address, keepaliveMs: KEEPALIVE_MS, ...options });
  cleanups.push(() => channel.close());
  return channel.port(EchoDefinition);
}

/** On a busy machine connections so short-lived may refuse a call twice, after which grpc-js gives up; it was begun by none. */
function notBegun(error: Error): null {
  expect(error.message).toBe("Stream refused by server");
  return null;
}

// grpc-js as it comes takes such a connection for dead as soon as it is due to be asked whether anybody is there.
describe("a connection that ends gracefully", () => {
  test("for its age: a stream under way is not cut", async () => {
    const server = await serve({ connectionAgeMs: AGE_MS });
    const port = portAt(server.address, { shareStreams: false });
    const answers = port.list(times(1), newCall())[Symbol.asyncIterator]();
    expect((await answers.next()).value).toEqual(batch(1));
    while (server.connections.size < 6) await port.unary(batch(1), newCall()).catch(notBegun);
    server.end();
    expect((await answers.next()).value).toEqual(batch(2));
    expect((await answers.next()).done).toBe(true);
  });

  test("for its age: no call is lost while shared streams outlive connections and others take their place", async () => {
    const server = await serve({ connectionAgeMs: AGE_MS });
    const ports = Array.from({ length: 4 }, () => portAt(server.address, { streamAgeMs: 2 * AGE_MS }));
    async function callOn(port: EchoPort): Promise<void> {
      for (let offset = 0; server.connections.size < 12; offset += 1) {
        const answer = await port.unary(batch(offset), newCall()).catch(notBegun);
        expect(answer?.offset ?? offset).toBe(offset);
      }
    }
    await Promise.all(ports.map(callOn));
  });

  test("for a drain: a stream under way is not cut", async () => {
    const server = await serve();
    const answers = portAt(server.address).list(times(1), newCall())[Symbol.asyncIterator]();
    expect((await answers.next()).value).toEqual(batch(1));
    const drained = server.drain(60_000);
    const next = answers.next();
    await expect(Promise.race([next, new Promise((resolve) => setTimeout(resolve, 10 * KEEPALIVE_MS, "still there"))])).resolves.toBe(
      "still there",
    );
    server.end();
    expect((await next).value).toEqual(batch(2));
    expect((await answers.next()).done).toBe(true);
    await drained;
  });
});
