import {
  type CertificateSource,
  localPort,
  type OnFault,
  openChannel,
  type RpcLimits,
  type ServiceDefinition,
  type ServicePort,
  serveGrpc,
  wirePort,
} from "@unigate/rpc";
import { certificateSource, createTestAuthority } from "./certificates.ts";

export interface RunnerOptions extends RpcLimits {
  /** Called with what a handler threw when it was no RpcError, and the method. */
  readonly onFault?: OnFault;
}

/** A port over one of the ways to it. */
export interface Connection<D extends ServiceDefinition> {
  readonly port: ServicePort<D>;
  /** Ends it. Over "wire" it also throws when somebody changed a message that it had received. */
  readonly close: () => Promise<void>;
}

/** One way to call a service. A suite that runs over all of them proves that a caller cannot tell them apart. */
export interface Runner {
  readonly name: "local" | "wire" | "grpc" | "shared" | "tls";
  readonly connect: <D extends ServiceDefinition>(
    definition: D,
    implementation: ServicePort<D>,
    options?: RunnerOptions,
  ) => Promise<Connection<D>>;
}

/**
 * local: by reference. wire: encoded, decoded and guarded against changes, in process. grpc: over loopback TCP, each call
 * by itself. shared: the same, with unary calls in a stream that is open already. tls: the same as shared, with
 * certificates.
 */
export const runners: readonly Runner[] = [
  {
    name: "local",
    async connect(definition, implementation, options) {
      return { port: localPort(definition, implementation, options), async close() {} };
    },
  },
  {
    name: "wire",
    async connect(definition, implementation, options) {
      const { port, verify } = wirePort(definition, implementation, options);
      return {
        port,
        async close() {
          verify();
        },
      };
    },
  },
  { name: "grpc", connect: (...args) => connectOverGrpc({ shareStreams: false }, ...args) },
  { name: "shared", connect: (...args) => connectOverGrpc({ shareStreams: true }, ...args) },
  {
    name: "tls",
    connect(...args) {
      const source = certificateSource(createTestAuthority().issueFor(["callee"]));
      return connectOverGrpc({ shareStreams: true, source }, ...args);
    },
  },
];

interface Way {
  readonly shareStreams: boolean;
  /** Both ends show the same certificate. */
  readonly source?: CertificateSource;
}

/** A shared stream takes calls once it is open: that is waited for, or the first calls would go plainly. */
async function connectOverGrpc<D extends ServiceDefinition>(
  { shareStreams, source }: Way,
  definition: D,
  implementation: ServicePort<D>,
  options: RunnerOptions = {},
): Promise<Connection<D>> {
  const server = await serveGrpc({
    ...options,
    listen: "127.0.0.1:0",
    services: [{ definition, implementation }],
    ...(source === undefined ? {} : { certificates: source }),
  });
  const certificates = source === undefined ? {} : { certificates: { source, service: "callee" } };
  const channel = openChannel({ ...options, ...certificates, shareStreams, address: server.address });
  if (shareStreams) await channel.ready(SHARED_READY_MS);
  return {
    port: channel.port(definition),
    async close() {
      channel.close();
      await server.drain(0);
    },
  };
}

const SHARED_READY_MS = 10_000;
