import { constants } from "node:crypto";
import type { ListenOptions } from "node:net";
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from "node:tls";
import type { OnRefused } from "../refused.ts";
import type { CertificateSource, MeshCertificates } from "./certificates.ts";
import { failedHandshake, type TlsPeer, tlsPeerOf } from "./tls-peer.ts";

/** Connections under TLS whose peers have shown who they are. */
export interface TlsListener {
  /** 0 for a socket with a path. */
  readonly port: number;
  /** No new connections. */
  stop(): void;
  /** Resolves when there is no connection. */
  empty(): Promise<void>;
  /** Ends all connections at once. */
  cut(): void;
}

export interface TlsEvents {
  /** Also for a refused peer, which is to be told why. */
  onConnection(socket: TLSSocket, peer: TlsPeer): void;
  readonly onRefused: OnRefused | undefined;
}

const HANDSHAKE_MS = 10_000;
/** A refused peer has this long to ask and be told; it may come again with a better certificate. */
const REFUSED_MS = 2_000;

/**
 * Listens on one address. grpc-js's own TLS tells nobody why it cut a connection, the peer neither, and looks at a
 * certificate anew with each call. Gives the error of an address that cannot be bound.
 */
export function listenTls(address: string, source: CertificateSource, events: TlsEvents): Promise<TlsListener | Error> {
  const server = createServer({
    ...contextOf(source.current),
    requestCert: true,
    // A refused peer would only see its connection end.
    rejectUnauthorized: false,
    ALPNProtocols: ["h2"],
    handshakeTimeout: HANDSHAKE_MS,
    noDelay: true,
  });
  const sockets = new Set<TLSSocket>();
  let stopped = false;
  const waiting: (() => void)[] = [];
  server.on("secureConnection", (socket) => {
    // What went wrong ends the connection, which those who use it are told.
    socket.on("error", () => {});
    if (stopped) return void socket.destroy();
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      if (sockets.size === 0) for (const resolve of waiting.splice(0)) resolve();
    });
    const peer = tlsPeerOf(socket);
    if (peer.refused !== null) {
      events.onRefused?.(peer.refused);
      const timer = setTimeout(() => socket.destroy(), REFUSED_MS).unref();
      socket.once("close", () => clearTimeout(timer));
    }
    events.onConnection(socket, peer);
  });
  server.on("tlsClientError", (error, socket) => {
    const refused = failedHandshake(error, socket);
    if (refused !== null) events.onRefused?.(refused);
  });
  const stopFollowing = source.onChange((certificates) => server.setSecureContext(contextOf(certificates)));
  return bound(server, address).then((error) => {
    if (error !== null) {
      stopFollowing();
      return error;
    }
    const at = server.address();
    return {
      port: at === null || typeof at === "string" ? 0 : at.port,
      stop() {
        if (stopped) return;
        stopped = true;
        stopFollowing();
        server.close();
      },
      empty() {
        if (sockets.size === 0) return Promise.resolve();
        return new Promise((resolve) => waiting.push(resolve));
      },
      cut() {
        for (const socket of sockets) socket.destroy();
      },
    };
  });
}

/** Connections are not resumed from tickets: a certificate is looked at each time. */
function contextOf({ certificate, key, authority }: MeshCertificates): SecureContextOptions {
  return { cert: certificate, key, ca: authority, minVersion: "TLSv1.3", secureOptions: constants.SSL_OP_NO_TICKET };
}

function bound(server: Server, address: string): Promise<Error | null> {
  return new Promise((resolve) => {
    server.once("error", resolve);
    server.listen(listenOptions(address), () => {
      server.off("error", resolve);
      resolve(null);
    });
  });
}

/** Of an address that `listenAddresses` gave. */
function listenOptions(address: string): ListenOptions {
  if (address.startsWith("unix:")) return { path: address.slice("unix:".length) };
  const mark = address.lastIndexOf(":");
  return { host: address.slice(0, mark).replace(/^\[(.*)\]$/, "$1"), port: Number(address.slice(mark + 1)) };
}
