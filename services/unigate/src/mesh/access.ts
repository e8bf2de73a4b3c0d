import { type Authenticate, type ChannelOptions, callerCheck, meshToken, type ServeOptions } from "@unigate/rpc";
import type { Settings } from "@unigate/runtime";
import type { Signs } from "../host.ts";
import type { ServiceName } from "../module.ts";
import type { Part } from "../part.ts";
import { callerTable } from "./caller-table.ts";
import { type FollowedCertificates, followCertificates } from "./certificate-files.ts";
import { refusalLog } from "./refusal-log.ts";

/** How the services of a mesh prove to each other who they are. */
export interface MeshAccess {
  /** For a server that listens there. */
  serving(listen: string): Pick<ServeOptions, "certificates" | "authenticate" | "onRefused">;
  /** For a channel to a service at an address. */
  calling(service: ServiceName, address: string): Pick<ChannelOptions, "certificates" | "interceptor">;
  close(): void;
}

/**
 * Certificates and the caller table, or the mesh token, or, with both, both. A process with all services talks to
 * nobody, and the socket between a primary and its workers is in a folder that only their user may enter: neither
 * needs certificates.
 * @throws CertificateError when the certificates of the settings cannot be used.
 */
export async function openMeshAccess(
  settings: Settings,
  part: Part,
  { log, metrics }: Pick<Signs, "log" | "metrics">,
): Promise<MeshAccess> {
  const certificates = await certificatesOf(settings, part, log);
  if (certificates !== null) {
    metrics.gauge(
      "unigate_mesh_certificate_expiry_timestamp_seconds",
      "when the certificate of this process expires, Unix time",
      () => certificates.expiresAt(),
      "each",
    );
  }
  const refused = metrics.counter("unigate_mesh_refused_total", "connections and calls of the mesh that were refused", ["reason"]);
  const logRefusal = refusalLog(log);
  const token = settings.meshToken === null ? null : meshToken(settings.meshToken);
  const byTable = callerCheck(callerTable);
  const isOutside = (address: string): boolean => address !== part.ownerSocket;

  function authenticateAt(listen: string): Authenticate | null {
    if (certificates === null || !isOutside(listen)) return token?.authenticate ?? null;
    return token === null ? byTable : (peer, method) => byTable(peer, method) ?? token.authenticate(peer, method);
  }

  return {
    serving(listen) {
      const authenticate = authenticateAt(listen);
      return {
        ...(certificates !== null && isOutside(listen) ? { certificates } : {}),
        ...(authenticate === null ? {} : { authenticate }),
        onRefused(refusal) {
          refused.inc({ reason: refusal.reason });
          logRefusal(refusal);
        },
      };
    },
    calling(service, address) {
      return {
        ...(certificates !== null && isOutside(address) ? { certificates: { source: certificates, service } } : {}),
        ...(token === null ? {} : { interceptor: token.interceptor }),
      };
    },
    close: () => certificates?.close(),
  };
}

async function certificatesOf(settings: Settings, part: Part, log: Signs["log"]): Promise<FollowedCertificates | null> {
  if (settings.meshCertificates === null) return null;
  if (!part.isWhole) return followCertificates(settings.meshCertificates, part.names, { log });
  log.warn("certificates of the mesh are not used: all services run here");
  return null;
}
