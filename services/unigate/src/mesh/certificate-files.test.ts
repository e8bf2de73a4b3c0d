import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MeshCertificates } from "@unigate/rpc";
import type { CertificateFiles, Logger } from "@unigate/runtime";
import { createTestAuthority, until } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type FollowedCertificates, followCertificates } from "./certificate-files.ts";
import { CertificateError, readCertificates } from "./read-certificates.ts";

const DAY_MS = 86_400_000;
const mesh = createTestAuthority();
const good = mesh.issueFor(["edge", "router"]);

let folder = "";
let files: CertificateFiles;
let lines: [level: string, fields: Record<string, unknown>, text: string][] = [];
let followed: FollowedCertificates | null = null;

function line(level: string): (fields: unknown, text?: unknown) => void {
  return (fields, text) => void lines.push([level, fields as Record<string, unknown>, String(text)]);
}
const log: Logger = { debug() {}, fatal() {}, info: line("info"), warn: line("warn"), error: line("error") };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unigate-certificates-"));
  files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key"), authority: join(folder, "ca.crt") };
  lines = [];
});

afterEach(() => {
  followed?.close();
  followed = null;
  rmSync(folder, { recursive: true });
});

function write({ certificate, key, authority }: MeshCertificates): void {
  writeFileSync(files.certificate, certificate);
  writeFileSync(files.key, key);
  writeFileSync(files.authority, authority);
}

async function follow(first: MeshCertificates = good): Promise<FollowedCertificates> {
  write(first);
  followed = await followCertificates(files, ["edge", "router"], { log, pollMs: 10 });
  return followed;
}

test("good files are read, with the end of the own certificate", async () => {
  const to = new Date("2090-01-02T03:04:05Z");
  const certificates = mesh.issueFor(["router", "edge", "cache"], { to });
  write({ ...certificates, certificate: Buffer.concat([certificates.certificate, mesh.authority]) });
  expect((await readCertificates(files, ["edge", "router"])).validTo).toEqual(to);
  expect((await follow(certificates)).expiresAt()).toBe(to.getTime() / 1_000);
});

describe("files that do not do are refused in one line that says which and why", () => {
  const other = mesh.issueFor(["edge", "router"]);
  const pem = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "hush",
  });
  const damaged = Buffer.from("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n");

  test.each<[string, Partial<MeshCertificates>, RegExp]>([
    [
      "another key",
      { key: other.key },
      /^UNIGATE_MESH_KEY \(.*tls\.key\) is not the key of the certificate in UNIGATE_MESH_CERT \(.*tls\.crt\)$/,
    ],
    ["a key with a passphrase", { key: Buffer.from(pem) }, /^UNIGATE_MESH_KEY \(.*\) holds no private key in PEM without a passphrase$/],
    ["no key", { key: Buffer.from("hush") }, /^UNIGATE_MESH_KEY \(.*\) holds no private key/],
    ["no certificate", { certificate: good.key }, /^UNIGATE_MESH_CERT \(.*\) holds no certificate; expected PEM/],
    ["a damaged certificate", { certificate: damaged }, /^UNIGATE_MESH_CERT \(.*\) holds a damaged certificate/],
    ["no authority", { authority: Buffer.alloc(0) }, /^UNIGATE_MESH_CA \(.*ca\.crt\) holds no certificate/],
    ["a damaged second authority", { authority: Buffer.concat([mesh.authority, damaged]) }, /^UNIGATE_MESH_CA \(.*\) holds a damaged/],
    ["a file that is too large", { authority: Buffer.alloc(2 ** 20 + 1) }, /^UNIGATE_MESH_CA \(.*\) has 1048577 bytes/],
    [
      "a service that is not named",
      mesh.issueFor(["edge"]),
      /names spiffe:\/\/unigate\/edge; this process runs edge, router: add URI:spiffe:\/\/unigate\/router to its alternative names$/,
    ],
    ["no service", mesh.issue([]), /names no service; this process runs edge, router: add URI:/],
  ])("%s", async (_, over, text) => {
    write({ ...good, ...over });
    const error: unknown = await readCertificates(files, ["edge", "router"]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CertificateError);
    expect(String(error).replace("CertificateError: ", "")).toMatch(text);
    expect(String(error)).not.toMatch(/hush|\n/);
  });

  test("a file that is not there", async () => {
    await expect(followCertificates(files, ["edge"], { log })).rejects.toThrow(/^UNIGATE_MESH_\w+ \(.*\) cannot be read: ENOENT/);
  });
});

test("good new files take the place of the old ones, and listeners are told until they stop", async () => {
  const source = await follow();
  const told: MeshCertificates[] = [];
  const stop = source.onChange((certificates) => void told.push(certificates));
  const next = mesh.issueFor(["edge", "router"]);
  write(next);
  await until("the new certificates", () => source.current.certificate.equals(next.certificate) && source.current.key.equals(next.key));
  expect(told.at(-1)).toBe(source.current);
  stop();
  const before = told.length;
  const last = mesh.issueFor(["edge", "router"]);
  write(last);
  await until("the last certificates", () => source.current.key.equals(last.key));
  expect(told).toHaveLength(before);
});

test("a folder that is swapped by its link, as Kubernetes does", async () => {
  const next = mesh.issueFor(["edge", "router"]);
  const put = (name: string, { certificate, key, authority }: MeshCertificates) => {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "tls.crt"), certificate);
    writeFileSync(join(folder, name, "tls.key"), key);
    writeFileSync(join(folder, name, "ca.crt"), authority);
  };
  put("..1", good);
  put("..2", next);
  symlinkSync("..1", join(folder, "..data"));
  for (const name of ["tls.crt", "tls.key", "ca.crt"]) symlinkSync(join("..data", name), join(folder, name));
  followed = await followCertificates(files, ["edge"], { log, pollMs: 10 });
  symlinkSync("..2", join(folder, "..new"));
  renameSync(join(folder, "..new"), join(folder, "..data"));
  await until("the new certificates", () => followed?.current.certificate.equals(next.certificate));
  expect(lines.map(([level]) => level)).toEqual(["info"]);
});

test.each<[string, Partial<MeshCertificates>, RegExp]>([
  ["broken", { certificate: Buffer.from("nothing") }, /holds no certificate/],
  ["expired", mesh.issueFor(["edge", "router"], { to: new Date(Date.now() - 1_000) }), /has expired: it was valid to 20/],
  ["for another service", mesh.issueFor(["cache"]), /names spiffe:\/\/unigate\/cache/],
])("new files that are %s change nothing and are logged once; better ones are taken", async (_, over, text) => {
  const source = await follow();
  const before = source.current;
  write({ ...good, ...over });
  await until("the log", () => lines.length > 0);
  expect(lines).toEqual([["error", { error: expect.stringMatching(text) }, "new certificates cannot be used; those before stay in use"]]);
  expect(source.current).toBe(before);
  const next = mesh.issueFor(["edge", "router"]);
  write(next);
  await until("the next certificates", () => source.current.key.equals(next.key));
  expect(lines.filter(([level]) => level === "error")).toHaveLength(1);
});

test.each([
  ["about to expire", new Date(Date.now() + 13 * DAY_MS), new Date(Date.now() - 365 * DAY_MS), "warn"],
  ["expired", new Date(Date.now() - 1_000), new Date(Date.now() - DAY_MS), "error"],
])("an own certificate that is %s is logged once at the start", async (text, to, from, level) => {
  await follow(mesh.issueFor(["edge", "router"], { from, to }));
  const file = files.certificate;
  expect(lines).toEqual([[level, { file, validTo: expect.stringMatching(/^20/) }, expect.stringContaining(text)]]);
});
