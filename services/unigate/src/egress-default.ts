/** Loopback and private ranges: local models and test upstreams. */
const PRIVATE_RANGES = "localhost,*.localhost,host.docker.internal,127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7";

/** Whether a listen address is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/**
 * The egress allow-list of a process started for a person at their own machine: what was set, and private ranges
 * when the front listens on loopback only (DESIGN section 1).
 */
export function egressAllowFor(host: string, set: string | null): string {
  if (!isLoopback(host)) return set ?? "";
  return set === null ? PRIVATE_RANGES : `${set},${PRIVATE_RANGES}`;
}
