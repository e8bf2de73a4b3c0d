import type { ChannelCredentials, ServerCredentials } from "@grpc/grpc-js";
import { grpcJs } from "./grpc-js.ts";

/** A service's own certificate and the authority that signed those of all services; PEM. Both sides must show one. */
export interface MeshCertificates {
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly authority: Buffer;
}

export function serverCredentials(certificates: MeshCertificates | undefined): ServerCredentials {
  const { ServerCredentials } = grpcJs();
  if (certificates === undefined) return ServerCredentials.createInsecure();
  const own = { cert_chain: certificates.certificate, private_key: certificates.key };
  return ServerCredentials.createSsl(certificates.authority, [own], true);
}

export function channelCredentials(certificates: MeshCertificates | undefined): ChannelCredentials {
  const { credentials } = grpcJs();
  if (certificates === undefined) return credentials.createInsecure();
  return credentials.createSsl(certificates.authority, certificates.key, certificates.certificate);
}
