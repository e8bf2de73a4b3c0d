import { X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nameOfService } from "@unigate/rpc";
import { type Authority, issueCertificate, makeAuthority, readAuthority } from "@unigate/secrets";
import { type ServiceName, serviceNames } from "../module.ts";
import { CertificateError, readCertificates, wordsOf } from "./read-certificates.ts";

/** What was done for a service. */
export interface MadeCertificate {
  readonly service: ServiceName;
  readonly made: boolean;
  readonly validTo: Date;
}

const DAY_MS = 86_400_000;
const HOUR_MS = DAY_MS / 24;
const AUTHORITY_DAYS = 3_650;
const SERVICE_DAYS = 365;
/** A certificate that ends earlier is replaced. */
const RENEW_DAYS = 60;

/**
 * Certificates for a mesh of eight services: `<folder>/<service>/tls.crt`, `tls.key` and `ca.crt`, good for 365 days, and
 * the authority that signs them in `<folder>/authority`, good for ten years. What is there stays, unless it has 60 days
 * left, belongs to another authority or cannot be used. Keys can be read by the owner, and by the group when that owner
 * is root: so that a service need not be root.
 * @throws CertificateError when the authority that is there cannot be used.
 */
export async function makeCertificates(folder: string, now: number = Date.now()): Promise<readonly MadeCertificate[]> {
  const authority = await authorityIn(join(folder, "authority"), now);
  const made: MadeCertificate[] = [];
  for (const service of serviceNames) made.push(await certificateOf(service, join(folder, service), authority, now));
  return made;
}

/** The key is written before the certificate: one without the other is an authority that was never used. */
async function authorityIn(folder: string, now: number): Promise<Authority> {
  const files = { certificate: join(folder, "ca.crt"), key: join(folder, "ca.key") };
  await mkdir(folder, { recursive: true });
  const certificate = await bytesOf(files.certificate);
  if (certificate === null) {
    const made = makeAuthority("unigate mesh", validity(now, AUTHORITY_DAYS));
    await replace(files.key, Buffer.from(made.key.export({ type: "pkcs8", format: "pem" })), 0o400);
    await replace(files.certificate, made.certificate, 0o444);
    return made;
  }
  const authority = await usable(files, folder, certificate);
  const { validTo } = new X509Certificate(certificate);
  if (Date.parse(validTo) <= now) throw new CertificateError(`${files.certificate} was valid to ${validTo}; ${insteadOf(folder)}`);
  return authority;
}

async function usable(
  files: { readonly certificate: string; readonly key: string },
  folder: string,
  certificate: Buffer,
): Promise<Authority> {
  try {
    return readAuthority(certificate, await readFile(files.key));
  } catch (cause) {
    throw new CertificateError(`${files.key} cannot be used with ${files.certificate}: ${wordsOf(cause)}; ${insteadOf(folder)}`, { cause });
  }
}

function insteadOf(folder: string): string {
  return `remove ${folder}, and a new authority is made`;
}

async function certificateOf(service: ServiceName, folder: string, authority: Authority, now: number): Promise<MadeCertificate> {
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key"), authority: join(folder, "ca.crt") };
  const known = await readCertificates(files, [service]).catch(() => null);
  const signer = new X509Certificate(authority.certificate);
  const renewBefore = Math.min(now + RENEW_DAYS * DAY_MS, Date.parse(signer.validTo));
  if (
    known !== null &&
    known.authority.equals(authority.certificate) &&
    new X509Certificate(known.certificate).verify(signer.publicKey) &&
    known.validTo.getTime() >= renewBefore
  )
    return { service, made: false, validTo: known.validTo };
  const { from, to } = validity(now, SERVICE_DAYS);
  const validTo = new Date(Math.min(to.getTime(), Date.parse(signer.validTo)));
  const names = { subject: service, uris: [nameOfService(service)], dnsNames: [service] };
  const issued = issueCertificate(authority, names, { from, to: validTo });
  await mkdir(folder, { recursive: true });
  await replace(files.key, issued.key, isRoot() ? 0o440 : 0o400);
  await replace(files.authority, authority.certificate, 0o444);
  await replace(files.certificate, issued.certificate, 0o444);
  return { service, made: true, validTo };
}

/** From an hour ago, for clocks that are behind. */
function validity(now: number, days: number): { readonly from: Date; readonly to: Date } {
  return { from: new Date(now - HOUR_MS), to: new Date(now + days * DAY_MS) };
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

async function bytesOf(file: string): Promise<Buffer | null> {
  try {
    return await readFile(file);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** Whole or not at all. */
async function replace(file: string, bytes: Buffer, mode: number): Promise<void> {
  await rm(`${file}.new`, { force: true });
  await writeFile(`${file}.new`, bytes, { mode, flush: true });
  await rename(`${file}.new`, file);
}
