import type { PeerCertificate } from "node:tls";
import type { ChannelCredentials, experimental } from "@grpc/grpc-js";
import { meshServicesOf, nameOfService } from "./certificate-names.ts";
import { grpcJs } from "./grpc-js.ts";

/** A service's own certificate and the authority that signed those of all services; PEM. Both sides must show one. */
export interface MeshCertificates {
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly authority: Buffer;
}

/** Certificates that are replaced while connections are up: new connections use the current ones, others go on. */
export interface CertificateSource {
  readonly current: MeshCertificates;
  /** Calls `listener` with each later ones. Returns how to stop that. */
  onChange(listener: (certificates: MeshCertificates) => void): () => void;
}

/** How a channel proves who it is, and to whom it wants to talk. */
export interface ChannelCertificates {
  readonly source: CertificateSource;
  /** The server's certificate must be for this service ("cache"); the address that it was reached at does not matter. */
  readonly service: string;
}

export function channelCredentials(certificates: ChannelCertificates | undefined): ChannelCredentials {
  const { credentials, experimental } = grpcJs();
  if (certificates === undefined) return credentials.createInsecure();
  const provider = providerOf(certificates.source);
  return experimental.createCertificateProviderChannelCredentials(provider, provider, {
    checkServerIdentity: (_, certificate) => wrongServer(certificates.service, certificate),
  });
}

function wrongServer(service: string, { subjectaltname }: PeerCertificate): Error | undefined {
  const services = meshServicesOf(subjectaltname);
  if (services.includes(service)) return undefined;
  const names = services.length === 0 ? "no service of the mesh" : services.map(nameOfService).join(", ");
  return new Error(`The server's certificate is for ${names}; it must be for ${nameOfService(service)}.`);
}

/** A source as grpc-js asks for certificates. */
function providerOf(source: CertificateSource): experimental.CertificateProvider {
  const stops = new Map<object, () => void>();
  function add(listener: object, tell: (certificates: MeshCertificates) => void): void {
    stops.set(listener, source.onChange(tell));
    tell(source.current);
  }
  function remove(listener: object): void {
    stops.get(listener)?.();
    stops.delete(listener);
  }
  return {
    addCaCertificateListener: (listener) => add(listener, ({ authority }) => listener({ caCertificate: authority })),
    removeCaCertificateListener: remove,
    addIdentityCertificateListener: (listener) => add(listener, ({ certificate, key }) => listener({ certificate, privateKey: key })),
    removeIdentityCertificateListener: remove,
  };
}
