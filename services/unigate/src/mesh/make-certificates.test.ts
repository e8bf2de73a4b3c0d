import { X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { serviceNames } from "../module.ts";
import { makeCertificates } from "./make-certificates.ts";
import { readCertificates } from "./read-certificates.ts";

const DAY_MS = 86_400_000;
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unigate-certificates-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const bytesOf = (...path: string[]): Buffer => readFileSync(join(folder, ...path));
const filesOf = (service: string) => ({
  certificate: join(folder, service, "tls.crt"),
  key: join(folder, service, "tls.key"),
  authority: join(folder, service, "ca.crt"),
});
const pairIn = (of: string, name: string) => [bytesOf(of, `${name}.crt`), bytesOf(of, `${name}.key`)] as const;
const replaceAuthority = (certificate: Buffer, key: Buffer): void => {
  rmSync(join(folder, "authority"), { recursive: true });
  mkdirSync(join(folder, "authority"));
  writeFileSync(join(folder, "authority", "ca.crt"), certificate);
  writeFileSync(join(folder, "authority", "ca.key"), key);
};
const made = async (now?: number): Promise<string[]> =>
  (await makeCertificates(folder, now)).filter((one) => one.made).map((one) => one.service);

describe("certificates of a mesh", () => {
  test("each service has one of its own, for its own name", async () => {
    expect(await made()).toEqual([...serviceNames]);
    const authority = new X509Certificate(bytesOf("authority", "ca.crt"));
    expect(authority.ca).toBe(true);
    for (const service of serviceNames) {
      const { certificate } = await readCertificates(filesOf(service), [service]);
      const own = new X509Certificate(certificate);
      expect(own.ca).toBe(false);
      expect(own.checkIssued(authority) && own.verify(authority.publicKey)).toBe(true);
      expect(own.subjectAltName).toBe(`URI:spiffe://unigate/${service}, DNS:${service}`);
      expect(own.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
    }
    await expect(readCertificates(filesOf("cache"), ["edge"])).rejects.toThrow("add URI:spiffe://unigate/edge");
  });

  test("only the owner reads a key, and the group of a process that is not root when the owner is", async () => {
    await makeCertificates(folder);
    expect(statSync(join(folder, "authority", "ca.key")).mode & 0o777).toBe(0o400);
    expect(statSync(join(folder, "edge", "tls.key")).mode & 0o777).toBe(process.getuid?.() === 0 ? 0o440 : 0o400);
  });

  test("what is good stays; what ends within 60 days is made again by the same authority", async () => {
    await makeCertificates(folder);
    const [before, authority] = [bytesOf("edge", "tls.crt"), bytesOf("authority", "ca.crt")];
    expect(await made()).toEqual([]);
    expect(await made(Date.now() + 300 * DAY_MS)).toEqual([]);
    expect(bytesOf("edge", "tls.crt").equals(before)).toBe(true);
    expect(await made(Date.now() + 306 * DAY_MS)).toEqual([...serviceNames]);
    expect(bytesOf("authority", "ca.crt").equals(authority)).toBe(true);
    await readCertificates(filesOf("edge"), ["edge"]);
  });

  test.each([
    ["without key", () => rmSync(join(folder, "cache", "tls.key"))],
    ["damaged", () => (rmSync(join(folder, "cache", "tls.crt")), writeFileSync(join(folder, "cache", "tls.crt"), "x"))],
    ["with another authority", () => (rmSync(join(folder, "cache", "ca.crt")), writeFileSync(join(folder, "cache", "ca.crt"), "x"))],
  ])("one that is %s is made again, the others stay", async (_case, spoil) => {
    await makeCertificates(folder);
    spoil();
    expect(await made()).toEqual(["cache"]);
    expect(await made()).toEqual([]);
  });

  test("a new authority makes all of them again", async () => {
    await makeCertificates(folder);
    rmSync(join(folder, "authority"), { recursive: true });
    expect(await made()).toEqual([...serviceNames]);
  });

  test("an authority that cannot be used is a mistake that is told, not replaced", async () => {
    await makeCertificates(folder);
    await expect(makeCertificates(folder, Date.now() + 3_651 * DAY_MS)).rejects.toThrow(/ca\.crt was valid to .*; remove /);
    const [own, service] = [pairIn("authority", "ca"), pairIn("edge", "tls")];
    for (const [certificate, key, why] of [
      [Buffer.from("x"), own[1], ""],
      [own[0], Buffer.from("x"), "the key is no private key in PEM"],
      [service[0], own[1], "the key is not that of the certificate"],
      [...service, "the certificate is not that of an authority"],
    ] as const) {
      replaceAuthority(certificate, key);
      await expect(makeCertificates(folder)).rejects.toThrow(new RegExp(`ca\\.key cannot be used with .*ca\\.crt: .*${why}.*; remove `));
    }
    replaceAuthority(...own);
    rmSync(join(folder, "authority", "ca.key"));
    await expect(makeCertificates(folder)).rejects.toThrow(/ca\.key cannot be used with .*ca\.crt: .*; remove /);
  });
});
