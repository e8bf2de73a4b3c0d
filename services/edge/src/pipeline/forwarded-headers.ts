import type { Header } from "@unigate/contracts";
import { mayReachProvider } from "@unigate/core";
import { looksLikeGatewayKey } from "@unigate/secrets";
import type { ClientHeaders } from "../client-headers.ts";

const NONE: Header[] = [];

/** The headers that `forward_headers` (or the header of that name, which wins) lets through. */
export function forwardedHeaders(headers: ClientHeaders, fromConfig: readonly string[]): Header[] {
  const asked = headers["x-gateway-forward-headers"];
  const names = asked === undefined ? fromConfig : asked.split(",").map((name) => name.trim().toLowerCase());
  if (names.length === 0) return NONE;
  const forwarded: Header[] = [];
  for (const name of names) {
    const value = headers[name];
    if (value !== undefined && mayReachProvider(name) && !holdsGatewayKey(value)) forwarded.push({ name, value });
  }
  return forwarded;
}

/** A key may stand in any header that a client likes (DESIGN 8.4). */
function holdsGatewayKey(value: string): boolean {
  return value.split(/\s+/).some(looksLikeGatewayKey);
}

/** Proxied requests pass every client header but those (DESIGN 8.10). */
export function proxiedHeaders(headers: ClientHeaders): Header[] {
  const passed: Header[] = [];
  for (const name in headers) {
    if (name === "accept-encoding" || name === "content-encoding" || mayReachProvider(name))
      passed.push({ name, value: headers[name] ?? "" });
  }
  return passed;
}

/** The client headers that checks name, as far as they may have them (behaviour 7.2). A request always stands in a trace. */
export function headersForChecks(headers: ClientHeaders, names: readonly string[], traceparent: string): Header[] {
  if (names.length === 0) return NONE;
  const forwarded: Header[] = [];
  for (const name of new Set(names)) {
    const value = headers[name] ?? (name === "traceparent" ? traceparent : undefined);
    if (value !== undefined) forwarded.push({ name, value });
  }
  return forwarded;
}
