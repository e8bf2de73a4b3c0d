/** Counted over all origins of a sender, since its start unless said otherwise. */
export interface SenderCounters {
  /** Exchanges from `send` to their last byte, now. */
  open: number;
  /** Connections now, connecting ones included. */
  connections: number;
  /** Connections made. */
  connects: number;
  /** Exchanges that began on a connection which had served before. */
  reuses: number;
  /** Exchanges sent again because a kept connection turned out dead. */
  resends: number;
}
