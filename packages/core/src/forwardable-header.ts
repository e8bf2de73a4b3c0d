/** Never passed on, whatever a list names: credentials of the gateway, cookies, hop-by-hop (DESIGN 8.4). */
const NEVER = new Set([
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "cookie",
  "host",
  "connection",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
  "content-length",
  "content-encoding",
  "accept-encoding",
]);

/** A name whose end says that the value proves who somebody is: a check's vendor has no use for it. */
const CREDENTIAL =
  /(?:^|-)(?:authorization|authentication|api-?key|subscription-key|functions-key|cookie2?|credentials?|password|secret|token)$/;
const OWN_PREFIX = "x-gateway-";
const OTHER_PREFIX = "x-portkey-";
/** The gateway's own headers that tell nothing but where a request stands in a trace. */
const TRACE_HEADERS = new Set(["x-gateway-trace-id", "x-gateway-span-id"]);

/** Whether a client header, by its lower-case name, may ever reach a provider. */
export function mayReachProvider(name: string): boolean {
  return !NEVER.has(name) && !name.startsWith(OWN_PREFIX);
}

/**
 * The lower-case name under which a client header may reach the vendor of a check, or null when it may not: what no
 * provider gets, and what looks like a credential, stays here; trace and span id may pass (behaviour 7.2).
 */
export function headerForCheck(name: string): string | null {
  const lower = name.toLowerCase();
  const own = lower.startsWith(OTHER_PREFIX) ? OWN_PREFIX + lower.slice(OTHER_PREFIX.length) : lower;
  if (TRACE_HEADERS.has(own)) return own;
  return mayReachProvider(own) && !CREDENTIAL.test(own) ? own : null;
}
