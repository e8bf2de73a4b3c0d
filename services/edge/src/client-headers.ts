/** Request headers by lower-case name, as the gateway reads them: aliases renamed, forwarding headers gone. */
export type ClientHeaders = Readonly<Record<string, string>>;

const OTHER_PREFIX = "x-portkey-";
const OWN_PREFIX = "x-gateway-";

/** Names of the original that hold a vendor word the gateway's own names avoid. */
const RENAMED: Readonly<Record<string, string>> = { "x-gateway-strict-open-ai-compliance": "x-gateway-strict-compat-compliance" };

/**
 * Reads Node's flat list of raw headers once. Duplicates are joined with ", ". `x-forwarded-*` and `forwarded` are
 * dropped (spec 5.5); `x-portkey-*` is read as `x-gateway-*`, the own spelling winning when both are sent.
 */
export function readHeaders(raw: readonly string[]): ClientHeaders {
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    const value = raw[index + 1] ?? "";
    if (name.startsWith("x-forwarded-") || name === "forwarded") continue;
    if (name.startsWith(OTHER_PREFIX)) {
      const own = OWN_PREFIX + name.slice(OTHER_PREFIX.length);
      const target = RENAMED[own] ?? own;
      headers[target] ??= value;
      continue;
    }
    const before = headers[name];
    headers[name] = before === undefined || name.startsWith(OWN_PREFIX) ? value : `${before}, ${value}`;
  }
  return headers;
}
