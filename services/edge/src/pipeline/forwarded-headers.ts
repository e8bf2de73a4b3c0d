import type { Header } from "@unigate/contracts";
import type { ClientHeaders } from "../client-headers.ts";

/** Never forwarded, whatever a list names: credentials of the gateway, cookies, hop-by-hop (DESIGN 8.4). */
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

const NONE: Header[] = [];

/** Whether a client header may ever reach a provider. */
function mayForward(name: string): boolean {
  return !NEVER.has(name) && !name.startsWith("x-gateway-");
}

/** The headers that `forward_headers` (or the header of that name, which wins) lets through. */
export function forwardedHeaders(headers: ClientHeaders, fromConfig: readonly string[]): Header[] {
  const asked = headers["x-gateway-forward-headers"];
  const names = asked === undefined ? fromConfig : asked.split(",").map((name) => name.trim().toLowerCase());
  if (names.length === 0) return NONE;
  const forwarded: Header[] = [];
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined && mayForward(name)) forwarded.push({ name, value });
  }
  return forwarded;
}

/** Proxied requests pass every client header but those (DESIGN 8.10). */
export function proxiedHeaders(headers: ClientHeaders): Header[] {
  const passed: Header[] = [];
  for (const name in headers) {
    if (name === "accept-encoding" || name === "content-encoding" || mayForward(name)) passed.push({ name, value: headers[name] ?? "" });
  }
  return passed;
}
