import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** A parsed address. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A network as ipaddr.js matches it: base address and prefix length. */
export type Network = readonly [Address, number];

const DOTTED_TAIL = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

/** The address in `text` (no brackets), or null. A zone ("%eth0") is dropped. */
export function parseAddress(text: string): Address | null {
  const zone = text.indexOf("%");
  const bare = zone < 0 ? text : text.slice(0, zone);
  const kind = isIP(bare);
  if (kind === 4) return ipaddr.IPv4.parse(bare);
  // ipaddr.js takes "::1.2.3.4" for a mapped address, which it is not: only hexadecimal groups are given to it.
  return kind === 6 ? ipaddr.IPv6.parse(bare.replace(DOTTED_TAIL, hexadecimal)) : null;
}

/** The network in `text`, "10.0.0.0/8" or a single address, or null. */
export function parseNetwork(text: string): Network | null {
  const slash = text.indexOf("/");
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash));
  if (address === null || text.includes("%")) return null;
  const most = address.kind() === "ipv4" ? 32 : 128;
  if (slash < 0) return [address, most];
  const bits = text.slice(slash + 1);
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most ? [address, Number(bits)] : null;
}

/** Whether any of `networks` holds `address`. */
export function within(address: Address, networks: readonly Network[]): boolean {
  for (const [base, bits] of networks) {
    if (address instanceof ipaddr.IPv4) {
      if (base instanceof ipaddr.IPv4 && address.match(base, bits)) return true;
    } else if (base instanceof ipaddr.IPv6 && address.match(base, bits)) return true;
  }
  return false;
}

/** A network that is known to be one; throws when it is not. */
export function network(text: string): Network {
  const parsed = parseNetwork(text);
  if (parsed === null) throw new Error(`"${text}" is not a network.`);
  return parsed;
}

function hexadecimal(_tail: string, ...octets: string[]): string {
  const [a, b, c, d] = octets.map(Number);
  return `${((a ?? 0) * 256 + (b ?? 0)).toString(16)}:${((c ?? 0) * 256 + (d ?? 0)).toString(16)}`;
}
