/** Headers that belong to a connection, or say how a body is sent on it: whoever opens the connection sets them. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Credentials of the gateway and cookies: never passed on, whatever a list names (DESIGN 8.4). */
const OF_THE_CLIENT = new Set(["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"]);

/** A name whose end says that the value proves who somebody is: a check's vendor has no use for it. */
const CREDENTIAL =
  /(?:^|-)(?:authorization|authentication|api-?key|subscription-key|functions-key|cookie2?|credentials?|password|secret|token)$/;
const OWN_PREFIX = "x-gateway-";
const OTHER_PREFIX = "x-portkey-";
/** An inline config holds credentials. */
const CONFIG_HEADER = "x-gateway-config";
/** The gateway's own headers that tell nothing but where a request stands in a trace. */
const TRACE_HEADERS = new Set(["x-gateway-trace-id", "x-gateway-span-id"]);

/** Whether a header, by its lower-case name, is the connection's own: no user sets it and none is passed on. */
export function isConnectionHeader(name: string): boolean {
  return OF_THE_CONNECTION.has(name);
}

/** Whether a client header, by its lower-case name, may ever reach a provider. */
export function mayReachProvider(name: string): boolean {
  return !OF_THE_CONNECTION.has(name) && !OF_THE_CLIENT.has(name) && !name.startsWith(OWN_PREFIX);
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

/** Whether a header, by its lower-case name, may decide where a request goes: not one that carries a credential. */
export function mayDecideRoute(name: string): boolean {
  return !OF_THE_CLIENT.has(name) && !CREDENTIAL.test(name) && name !== CONFIG_HEADER;
}
