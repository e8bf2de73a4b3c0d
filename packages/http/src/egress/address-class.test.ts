import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseNetwork } from "./address.ts";
import { addressClass } from "./address-class.ts";

const each = (text: string): string[] => text.trim().split(/\s+/);

describe("addressClass", () => {
  test.each(
    each(`
      1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0
      172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
      2606:4700::1111 2a00:1450:4001::200e 2000::1 3ffe::1
      ::ffff:8.8.8.8 ::ffff:808:808 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
    `),
  )("%s is public", (address) => expect(addressClass(address)).toBe("public"));

  test.each(
    each(`
      0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.255 169.254.0.1
      172.16.0.0 172.31.255.255 192.0.0.1 192.168.0.0 192.168.255.255 198.18.0.1 198.19.255.255
      224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
      :: ::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 fc00::1 fdff::1 ff02::1 100::1 2001:db8::1 3fff::1 4000::1
      2001::1 2001:0:102:304:: 2001:20::1 64:ff9b:1::1 ::1.1.1.1 ::808:808
      ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.1.2.3 ::ffff:0:127.0.0.1 ::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::7f00:1
      2002:7f00:1:: 2002:a00:1::1 2002:c0a8:101::1 2002:e000:1::
    `),
  )("%s is private", (address) => expect(addressClass(address)).toBe("private"));

  test.each(
    each(`
      169.254.169.254 169.254.169.253 169.254.169.0 169.254.169.255 169.254.170.2 169.254.170.23 169.254.42.42 169.254.0.23
      100.100.100.200 168.63.129.16 192.0.0.192
      fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42
      ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 ::ffff:0:a9fe:a9fe 64:ff9b::169.254.169.254 2002:a9fe:a9fe::1
    `),
  )("%s is metadata", (address) => expect(addressClass(address)).toBe("metadata"));

  test.each(["", "localhost", "1.2.3", "0x7f000001", "2130706433", "010.0.0.1", "1.2.3.4.5", "[::1]", ":::", "1.2.3.4/8"])(
    "%j is no address",
    (text) => expect(addressClass(text)).toBe("invalid"),
  );

  test("agrees with plain arithmetic on every IPv4 address", () => {
    const edges = fc.constantFrom(0, 9, 10, 11, 63, 64, 100, 126, 127, 128, 168, 169, 172, 192, 198, 223, 224, 254, 255);
    const octet = fc.oneof(fc.nat(255), edges);
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        expect(addressClass(`${a}.${b}.${c}.${d}`)).toBe(plainly(a, b, c, d));
        expect(addressClass(`::ffff:${a}.${b}.${c}.${d}`)).toBe(plainly(a, b, c, d));
      }),
      { numRuns: 20_000 },
    );
  });

  test("agrees with plain arithmetic at every first and second octet", () => {
    for (let a = 0; a < 256; a++) for (let b = 0; b < 256; b++) expect(addressClass(`${a}.${b}.1.1`)).toBe(plainly(a, b, 1, 1));
  });
});

/** The rules a second time, written without networks. */
function plainly(a: number, b: number, c: number, d: number): string {
  const value = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
  const from = (text: string) => text.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const between = (low: string, high: string) => value >= from(low) && value <= from(high);
  if (between("169.254.169.0", "169.254.170.255")) return "metadata";
  if (["169.254.42.42", "169.254.0.23", "100.100.100.200", "168.63.129.16", "192.0.0.192"].some((one) => value === from(one)))
    return "metadata";
  if (a === 0 || a === 10 || a === 127 || a >= 224) return "private";
  if (between("100.64.0.0", "100.127.255.255") || between("169.254.0.0", "169.254.255.255")) return "private";
  if (between("172.16.0.0", "172.31.255.255") || between("192.168.0.0", "192.168.255.255")) return "private";
  if (between("192.0.0.0", "192.0.0.255") || between("198.18.0.0", "198.19.255.255")) return "private";
  return "public";
}

describe("parseNetwork", () => {
  test.each(["10.0.0.0/8", "10.1.2.3", "::1", "fc00::/7", "0.0.0.0/0", "::/0", "1.2.3.4/32"])("reads %s", (text) => {
    expect(parseNetwork(text)).not.toBeNull();
  });

  test.each(["10.0.0.0/33", "10/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "fe80::%1/64", "name", "", "1.2.3.4/255.0.0.0"])(
    "does not read %j",
    (text) => expect(parseNetwork(text)).toBeNull(),
  );
});
