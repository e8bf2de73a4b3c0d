/** Whether a listen address is reachable from this machine only. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/**
 * The egress allow-list of a process started for a person at their own machine: what was set, and private ranges
 * when the front listens on loopback only (DESIGN section 1).
 */
export async function egressAllowFor(host: string, set: string | null): Promise<string> {
  if (!isLoopback(host)) return set ?? "";
  // Not with the program: a service that sends nothing is spared undici.
  const { LOCAL_EGRESS_ALLOW } = await import("@unigate/http");
  return set === null ? LOCAL_EGRESS_ALLOW : `${set},${LOCAL_EGRESS_ALLOW}`;
}
