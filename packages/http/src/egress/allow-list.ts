import { type Network, parseAddress, parseNetwork, within } from "./address.ts";
import { unwrap } from "./address-class.ts";

/** What an administrator lets pass although it is private. */
export interface AllowList {
  /** Lower case host name, no brackets. */
  allowsName(name: string): boolean;
  /** Any spelling of an address; a wrapped IPv4 address is looked up as both. */
  allowsAddress(text: string): boolean;
}

/**
 * For people who run models on their own machine or network: what `UNIGATE_EGRESS_ALLOW` gets when the gateway itself
 * is only reachable from there (DESIGN section 1). Metadata addresses stay refused.
 */
export const LOCAL_EGRESS_ALLOW: string =
  "localhost,*.localhost,host.docker.internal,*.local,*.lan,*.home,*.home.arpa,*.internal," +
  "127.0.0.0/8,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,::1,fc00::/7";

const NAME = /^(?:\*\.)?[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,9}$/;

/** Reads `UNIGATE_EGRESS_ALLOW`: names, `*.suffix`, addresses and CIDRs, comma-separated. Throws on anything else. */
export function parseAllowList(text: string): AllowList {
  const names = new Set<string>();
  const suffixes: string[] = [];
  const networks: Network[] = [];
  for (const part of text.split(",")) {
    const entry = part.trim().toLowerCase();
    if (entry === "") continue;
    const network = parseNetwork(entry);
    if (network !== null) networks.push(network);
    else if (!NAME.test(entry) || /^[\d.]+$/.test(entry)) throw new Error(badEntry(part.trim()));
    else if (entry.startsWith("*.")) suffixes.push(entry.slice(1));
    else names.add(entry);
  }
  return {
    allowsName: (name) => names.has(name) || suffixes.some((suffix) => name.endsWith(suffix)),
    allowsAddress(text) {
      const address = parseAddress(text);
      return address !== null && (within(address, networks) || within(unwrap(address), networks));
    },
  };
}

function badEntry(entry: string): string {
  return `UNIGATE_EGRESS_ALLOW: "${entry}" is not a host name, a *.suffix, an address or a CIDR such as 10.0.0.0/8.`;
}
