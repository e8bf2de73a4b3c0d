import type { TLSSocket } from "node:tls";
import type { Refused } from "../refused.ts";
import { meshServicesOf, nameOfService } from "./certificate-names.ts";

/** Who is at the other end: the services that its certificate is for, or why it is refused. */
export type TlsPeer =
  | { readonly services: readonly string[]; readonly refused: null }
  | { readonly services: null; readonly refused: Refused };

/** Looks at the certificate of a connection whose handshake is over; once a connection, never a call. */
export function tlsPeerOf(socket: TLSSocket): TlsPeer {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return refuse(socket, "no_certificate", "The caller showed no certificate, which this mesh asks for.");
  if (!socket.authorized) {
    // A code of OpenSSL, although its type is Error.
    const code = String(socket.authorizationError);
    if (code === "CERT_HAS_EXPIRED")
      return refuse(socket, "expired", `The caller's certificate has expired: it was valid to ${certificate.validTo}.`);
    if (code === "CERT_NOT_YET_VALID")
      return refuse(socket, "not_yet_valid", `The caller's certificate is not yet valid: it will be from ${certificate.validFrom}.`);
    return refuse(
      socket,
      "not_trusted",
      `The caller's certificate is not one of this mesh's authority for client authentication (${code}).`,
    );
  }
  const services = meshServicesOf(certificate.subjectAltName);
  if (services.length > 0) return { services, refused: null };
  return refuse(socket, "no_name", `The caller's certificate names no service, such as URI:${nameOfService("edge")}.`);
}

/** What a failed handshake is told as; null when the peer only hung up, as probes of a port do. */
export function failedHandshake(error: Error, socket: TLSSocket): Refused | null {
  const code = "code" in error ? String(error.code) : "";
  if (code === "ECONNRESET" || code === "EPIPE") return null;
  const noTls = code === "ERR_SSL_WRONG_VERSION_NUMBER" || code === "ERR_SSL_HTTP_REQUEST" || code === "ERR_SSL_PACKET_LENGTH_TOO_LONG";
  return {
    reason: noTls ? "no_tls" : "handshake",
    address: addressOf(socket),
    text: noTls ? "The caller does not speak TLS." : `The TLS handshake failed: ${error.message}`,
  };
}

function refuse(socket: TLSSocket, reason: Refused["reason"], text: string): TlsPeer {
  return { services: null, refused: { reason, address: addressOf(socket), text } };
}

function addressOf({ remoteAddress, remotePort }: TLSSocket): string {
  return remoteAddress === undefined ? "unknown" : `${remoteAddress}:${remotePort ?? 0}`;
}
