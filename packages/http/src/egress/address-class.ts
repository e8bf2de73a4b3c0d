import ipaddr from "ipaddr.js";
import { type Address, type Network, network, parseAddress, within } from "./address.ts";

/**
 * "metadata": the instance services of clouds, refused whatever is allowed. "private": loopback, private, link-local,
 * shared, multicast and every other range that is not the public internet. "invalid": no address at all.
 */
export type AddressClass = "public" | "private" | "metadata" | "invalid";

const METADATA = networks(
  "169.254.169.0/24", // AWS, Azure, Google, Oracle, DigitalOcean and others
  "169.254.170.0/24", // AWS container credentials
  "169.254.42.42/32", // Scaleway
  "169.254.0.23/32", // Tencent
  "100.100.100.200/32", // Alibaba
  "168.63.129.16/32", // Azure wire server
  "192.0.0.192/32", // Oracle classic
  "fd00:ec2::/32", // AWS
  "fd20:ce::254/128", // Google
  "fd00:42::42/128", // Scaleway
);

const PRIVATE_V4 = networks(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/3",
);

/** Of IPv6 only global unicast is public, and not all of that. */
const GLOBAL_V6 = networks("2000::/3");
const RESERVED_V6 = networks("2001::/23", "2001:db8::/32", "3fff::/20");

/** IPv6 networks that hold an IPv4 address, and the byte where it starts. The connection ends at that address. */
const WRAPPERS: readonly { readonly network: Network; readonly at: number }[] = [
  { network: network("::ffff:0:0/96"), at: 12 }, // mapped
  { network: network("::ffff:0:0:0/96"), at: 12 }, // translated
  { network: network("64:ff9b::/96"), at: 12 }, // NAT64
  { network: network("2002::/16"), at: 2 }, // 6to4
];

/** Deprecated and never on the public internet; looked into only to find a metadata address. */
const COMPATIBLE = network("::/96");

/** The IPv4 address that an IPv6 address leads to, else the address itself. */
export function unwrap(address: Address): Address {
  if (address instanceof ipaddr.IPv4) return address;
  for (const { network, at } of WRAPPERS) if (within(address, [network])) return embedded(address, at);
  return address;
}

/** What kind of place an address is. Wrapped IPv4 addresses count as what they wrap (behaviour 1.3). */
function classOf(address: Address): AddressClass {
  const real = unwrap(address);
  if (within(real, METADATA)) return "metadata";
  if (real instanceof ipaddr.IPv4) return within(real, PRIVATE_V4) ? "private" : "public";
  if (within(real, [COMPATIBLE])) return within(embedded(real, 12), METADATA) ? "metadata" : "private";
  return within(real, GLOBAL_V6) && !within(real, RESERVED_V6) ? "public" : "private";
}

/** `classOf` for text. */
export function addressClass(text: string): AddressClass {
  const address = parseAddress(text);
  return address === null ? "invalid" : classOf(address);
}

function embedded(address: ipaddr.IPv6, at: number): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(at, at + 4));
}

function networks(...texts: string[]): readonly Network[] {
  return texts.map(network);
}
