import type { Server, ServerInterceptor } from "@grpc/grpc-js";
import { maxMessageBytes } from "../message-size.ts";
import { handlerOf, methodsOf } from "../method.ts";
import { OPEN_PATH } from "../shared-stream/limits.ts";
import { ServedStream } from "../shared-stream/served-stream.ts";
import { ServedStreams } from "../shared-stream/served-streams.ts";
import { drainServer } from "./drain.ts";
import { grpcJs } from "./grpc-js.ts";
import { addHealth } from "./health.ts";
import { bindError, listenAddresses } from "./listen.ts";
import { serverOptions } from "./options.ts";
import { RunningCalls } from "./running-calls.ts";
import type { GrpcServer, ServeOptions } from "./serve-options.ts";
import { serveOverTls } from "./serve-over-tls.ts";
import { type ServedMethod, ServerCall, type ServerHost } from "./server-call.ts";

/**
 * Serves implementations over gRPC, with grpc.health.v1 beside them.
 * @throws Error saying which address could not be bound, why, and what to do.
 */
export async function serveGrpc(options: ServeOptions): Promise<GrpcServer> {
  const secured = options.certificates !== undefined || options.authenticate !== undefined;
  const wanted = listenAddresses(options.listen, secured);
  const running = new RunningCalls();
  const methods = new Map<string, ServedMethod>();
  const host: ServerHost = {
    authenticate: options.authenticate,
    onRefused: options.onRefused,
    peerServices: null,
    onFault: options.onFault,
    maxBytes: maxMessageBytes(options),
    running,
  };
  const { certificates } = options;
  const streams = new ServedStreams(host, methods);
  const server = new (grpcJs().Server)({
    ...serverOptions(options),
    // Where callers show certificates, each connection has its own.
    interceptors: certificates === undefined ? [ownCalls(methods, host, streams)] : [],
  });
  for (const { definition, implementation } of options.services) {
    for (const method of methodsOf(definition)) {
      methods.set(method.path, { method, handler: handlerOf(implementation, method) });
      server.register(method.path, unreached, asItIs, asItIs, "unary");
    }
  }
  server.register(OPEN_PATH, unreached, asItIs, asItIs, "unary");
  const setServing = addHealth(
    server,
    options.services.map(({ definition }) => definition.fullName),
  );
  const listener =
    certificates === undefined
      ? await bind(wanted, (address) => listenPlain(server, address))
      : await bind(wanted, (address) =>
          serveOverTls(server, address, certificates, options.onRefused, (peerServices) =>
            ownCalls(methods, { ...host, peerServices }, streams),
          ),
        );
  return {
    address: listener.address,
    setServing,
    drain(ms) {
      setServing(false);
      listener.stop();
      streams.drain();
      return drainServer(server, listener, running, ms);
    },
  };
}

/**
 * Takes the calls of our methods before grpc-js wraps them into Node streams: those would read a whole request before
 * anybody could refuse its sender, and buffer sixteen messages where one is asked for. Health is left to grpc-js.
 */
function ownCalls(methods: ReadonlyMap<string, ServedMethod>, host: ServerHost, streams: ServedStreams): ServerInterceptor {
  const { ServerInterceptingCall, Metadata } = grpcJs();
  return (descriptor, transport) => {
    const served = methods.get(descriptor.path);
    if (served !== undefined) transport.start(new ServerCall(host, served, transport));
    else if (descriptor.path === OPEN_PATH) transport.start(new ServedStream(streams, transport, new Metadata(), host.peerServices));
    else return new ServerInterceptingCall(transport);
    return new ServerInterceptingCall(transport, TAKEN);
  };
}

/** The handler that grpc-js knows is never started. */
const TAKEN = { start() {} };

function unreached(): void {}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

/** A listening socket. */
interface Listener {
  /** 1 for a socket with a path. */
  readonly port: number;
  /** No new connections; grpc-js ends the others when their calls have ended. */
  stop(): void;
  /** Resolves when no connection is left that grpc-js does not know as its own. */
  empty(): Promise<void>;
  /** Ends all connections at once. */
  cut(): void;
}

async function bind(
  addresses: readonly string[],
  listen: (address: string) => Promise<Listener | Error>,
): Promise<Omit<Listener, "port"> & { readonly address: string }> {
  for (const [index, wanted] of addresses.entries()) {
    const bound = await listen(wanted);
    if (!(bound instanceof Error)) {
      const address = wanted.startsWith("unix:") ? wanted : wanted.replace(/:\d+$/, `:${bound.port}`);
      return { address, stop: bound.stop, empty: bound.empty, cut: bound.cut };
    }
    const isLast = index === addresses.length - 1;
    if (isLast || !bound.message.includes("EAFNOSUPPORT")) throw bindError(wanted, bound);
  }
  throw new Error("There is no address to listen on.");
}

function listenPlain(server: Server, address: string): Promise<Listener | Error> {
  return new Promise((resolve) => {
    server.bindAsync(address, grpcJs().ServerCredentials.createInsecure(), (error, port) => {
      const actual = address.startsWith("unix:") ? address : address.replace(/:\d+$/, `:${port}`);
      resolve(error ?? { port, stop() {}, empty: () => Promise.resolve(), cut: () => server.drain(actual, 0) });
    });
  });
}
