import { LOCAL_EGRESS_ALLOW } from "@unigate/http";

/** Whether a listen address is reachable from this machine only. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/**
 * The egress allow-list of a process started for a person at their own machine: what was set, and private ranges
 * when the front listens on loopback only (DESIGN section 1).
 */
export function egressAllowFor(host: string, set: string | null): string {
  if (!isLoopback(host)) return set ?? "";
  return set === null ? LOCAL_EGRESS_ALLOW : `${set},${LOCAL_EGRESS_ALLOW}`;
}
