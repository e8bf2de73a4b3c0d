import { promises as dns, type LookupAddress, type LookupOptions } from "node:dns";
import type { LookupFunction } from "node:net";
import { parseAddress } from "./address.ts";
import { addressClass } from "./address-class.ts";
import { type AllowList, parseAllowList } from "./allow-list.ts";
import { readUserUrl, type UrlVerdict } from "./user-url.ts";

/** Answers every address of a name. */
export type Resolve = (hostname: string, options: LookupOptions) => Promise<readonly LookupAddress[]>;

/** A connection was refused because of where its name leads. */
export class EgressRefusedError extends Error {
  override readonly name = "EgressRefusedError";
  readonly code = "EGRESS_REFUSED";
}

/** Keeps requests to user-given addresses away from private networks and cloud metadata. */
export interface EgressGuard {
  /** Spelling, names and literal addresses; nothing is resolved. `url` is safe to send to with `trusted: false` only. */
  checkUrl(text: string): UrlVerdict;
  /**
   * For `net.connect` and `tls.connect`: resolves, checks every answer, and hands over the checked addresses, so the
   * connection goes where the check looked. Never called by Node for literal addresses: `checkUrl` decides those.
   */
  readonly lookup: LookupFunction;
}

const METADATA_NAMES = new Set([
  "metadata",
  "metadata.google.internal",
  "metadata.goog",
  "metadata.azure.com",
  "metadata.azure.internal",
  "metadata.tencentyun.com",
  "metadata.packet.net",
  "metadata.platformequinix.com",
  "instance-data",
  "instance-data.ec2.internal",
]);

const PRIVATE_NAME = /(?:^|\.)(?:local|localdomain|localhost|internal|intranet|lan|home|home\.arpa|corp|test|invalid|onion)$/;

/** `allow` is the text of `UNIGATE_EGRESS_ALLOW`; throws when it cannot be read. `resolve` replaces the system's resolver. */
export function createEgressGuard(settings: { readonly allow: string; readonly resolve?: Resolve }): EgressGuard {
  const allow = parseAllowList(settings.allow);
  const resolve = settings.resolve ?? resolveAll;

  function checkUrl(text: string): UrlVerdict {
    const read = readUserUrl(text);
    if (!read.ok) return read;
    const { hostname } = read.url;
    const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
    const fault = parseAddress(host) === null ? nameFault(host, allow) : addressFault(host, allow, false);
    return fault === null ? read : { ok: false, reason: fault };
  }

  async function resolveChecked(hostname: string, options: LookupOptions): Promise<LookupAddress[]> {
    const fault = parseAddress(hostname) === null ? nameFault(hostname.toLowerCase(), allow) : null;
    if (fault !== null) throw new EgressRefusedError(fault);
    const answers = await resolve(hostname, options);
    const nameAllowed = allow.allowsName(hostname.toLowerCase());
    for (const { address } of answers) {
      const fault = addressFault(address, allow, nameAllowed);
      if (fault !== null) throw new EgressRefusedError(`"${hostname}" resolves to ${address}: ${fault}`);
    }
    const family = options.family === "IPv4" ? 4 : options.family === "IPv6" ? 6 : (options.family ?? 0);
    const usable = answers.filter((answer) => family === 0 || answer.family === family);
    if (usable.length === 0) throw Object.assign(new Error(`"${hostname}" has no address`), { code: "ENOTFOUND" });
    return usable;
  }

  const lookup: LookupFunction = (hostname, options, callback) => {
    resolveChecked(hostname, options).then(
      (addresses) => {
        const first = addresses[0];
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, options.all === true ? [] : "", 0),
    );
  };

  return { checkUrl, lookup };
}

/** Why a name may not be used; null when it may. Where it leads is checked when it is resolved. */
function nameFault(name: string, allow: AllowList): string | null {
  if (METADATA_NAMES.has(name)) return "its host is a cloud metadata service";
  if (allow.allowsName(name) || !PRIVATE_NAME.test(name)) return null;
  return "its host is a private name (UNIGATE_EGRESS_ALLOW can allow it)";
}

/** Why an address may not be used; null when it may. */
function addressFault(text: string, allow: AllowList, nameAllowed: boolean): string | null {
  switch (addressClass(text)) {
    case "public":
      return null;
    case "private":
      return nameAllowed || allow.allowsAddress(text) ? null : "it is a private address (UNIGATE_EGRESS_ALLOW can allow it)";
    case "metadata":
      return "it is the address of a cloud metadata service";
    case "invalid":
      return "it is not an address";
  }
}

function resolveAll(hostname: string, options: LookupOptions): Promise<LookupAddress[]> {
  return dns.lookup(hostname, { ...options, all: true });
}
