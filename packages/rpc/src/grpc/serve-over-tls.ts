import type { Server, ServerInterceptor } from "@grpc/grpc-js";
import { RpcError } from "../errors.ts";
import type { OnRefused, Refused } from "../refused.ts";
import type { CertificateSource } from "./certificates.ts";
import { grpcJs } from "./grpc-js.ts";
import { statusOf } from "./status.ts";
import { listenTls, type TlsListener } from "./tls-listener.ts";

/**
 * Hands connections under TLS to a grpc-js server, each with interceptors of its own: they know whose certificate it
 * has. `callsOf` makes those for the services of a certificate. A refused peer is told why by each of its calls.
 */
export function serveOverTls(
  server: Server,
  address: string,
  certificates: CertificateSource,
  onRefused: OnRefused | undefined,
  callsOf: (services: readonly string[]) => ServerInterceptor,
): Promise<TlsListener | Error> {
  const { experimental, ServerCredentials } = grpcJs();
  const plain = ServerCredentials.createInsecure();
  return listenTls(address, certificates, {
    onRefused,
    onConnection(socket, peer) {
      const calls = peer.refused === null ? callsOf(peer.services) : refuseAll(peer.refused);
      const injector = server.createConnectionInjector(experimental.createServerCredentialsWithInterceptors(plain, [calls]));
      socket.once("close", () => injector.destroy());
      injector.injectConnection(socket);
    },
  });
}

function refuseAll({ text }: Refused): ServerInterceptor {
  const { ServerInterceptingCall } = grpcJs();
  const status = statusOf(new RpcError("UNAUTHENTICATED", text));
  return (_, transport) => {
    transport.start({
      onReceiveMetadata: () => transport.sendStatus(status),
      onReceiveMessage() {},
      onReceiveHalfClose() {},
      onCancel() {},
    });
    return new ServerInterceptingCall(transport, { start() {} });
  };
}
