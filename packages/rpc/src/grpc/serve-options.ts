import type { OnFault } from "../failure.ts";
import type { Authenticate } from "../mesh-token.ts";
import type { RpcLimits } from "../message-size.ts";
import type { OnRefused } from "../refused.ts";
import type { ServiceDefinition } from "../types.ts";
import type { CertificateSource } from "./certificates.ts";
import type { KeepaliveOptions } from "./keepalive-options.ts";

/** A definition and the `ServicePort` that implements it. */
export interface Service {
  readonly definition: ServiceDefinition;
  readonly implementation: object;
}

export interface ServeOptions extends RpcLimits, KeepaliveOptions {
  /**
   * "host:port", "[host]:port", "unix:/path" or ":port": all addresses with certificates or `authenticate`, else
   * loopback. Port 0 takes a free one. An open address that anybody could call is an error.
   */
  readonly listen: string;
  readonly services: readonly Service[];
  /** How long a call may run on after its connection was told to end for its age, in ms; default 900,000. */
  readonly maxRequestMs?: number;
  /** When connections are told to end, so that clients look for new replicas, in ms, a tenth more or less; default 120,000. */
  readonly connectionAgeMs?: number;
  /**
   * TLS 1.3, with a certificate of the same authority from every caller. Callers without one get UNAUTHENTICATED and
   * what is wrong with theirs. New connections use the source's current certificates.
   */
  readonly certificates?: CertificateSource;
  /** Who may call what; without it everybody may that can connect. Health is open to all of these. */
  readonly authenticate?: Authenticate;
  /** Called with each connection and each call that is refused. */
  readonly onRefused?: OnRefused;
  /** Called with what a handler threw when it was no RpcError, and the method ("Cache.Lookup"). */
  readonly onFault?: OnFault;
}

export interface GrpcServer {
  /** Where it listens: "host:port" with the actual port, or "unix:/path". A channel takes it as it is. */
  readonly address: string;
  /** What grpc.health.v1 says of the server and each service. NOT_SERVING at first. */
  readonly setServing: (serving: boolean) => void;
  /**
   * Ends the server: not serving, no new connections or calls, `ms` for running calls to end. What still runs then sees
   * its call cancelled ("shutdown") and has a second to answer; its caller gets UNAVAILABLE otherwise. A second drain
   * with less time is faster.
   */
  readonly drain: (ms: number) => Promise<void>;
}
