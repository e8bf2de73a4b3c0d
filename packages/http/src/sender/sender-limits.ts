/** Bounds of a sender. */
export interface SenderLimits {
  /** Connections to one origin; further exchanges wait within their connect timeout. Default 4096. */
  readonly connectionsPerOrigin: number;
  /** Origins kept of each kind, trusted and guarded; the one unused longest goes first. Default 500. */
  readonly origins: number;
  /** How long an idle connection is kept, ms; a shorter time that the upstream names wins. Default 55 s: load balancers close at 60. */
  readonly keepAliveMs: number;
  /** Head of an answer, bytes. Default 64 KiB. */
  readonly maxHeaderBytes: number;
  /** A connection idle for longer is looked at for a close by the peer before it is used, ms. Default 1 s. */
  readonly idleCheckMs: number;
  /** Certificate authorities instead of Node's own (PEM); null = Node's. */
  readonly ca: string | null;
}

export const DEFAULT_SENDER_LIMITS: SenderLimits = {
  connectionsPerOrigin: 4096,
  origins: 500,
  keepAliveMs: 55_000,
  maxHeaderBytes: 64 * 1024,
  idleCheckMs: 1_000,
  ca: null,
};
