import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { type MeshCertificates, meshServicesOf, nameOfService } from "@unigate/rpc";
import type { CertificateFiles } from "@unigate/runtime";

/** Certificates that cannot be used. The message is one line that says which setting, which file and what is wrong. */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
}

/** Certificates that were read, and until when the own one is valid. */
export interface ReadCertificates extends MeshCertificates {
  readonly validFrom: Date;
  readonly validTo: Date;
}

/** Larger files hold something else. */
const MAX_BYTES = 1024 * 1024;

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Reads the three files of a process that runs `services`, and checks that they belong together. Whether the
 * certificate is valid today is not asked.
 * @throws CertificateError
 */
export async function readCertificates(files: CertificateFiles, services: readonly string[]): Promise<ReadCertificates> {
  const [certificate, key, authority] = await Promise.all([
    read("UNIGATE_MESH_CERT", files.certificate),
    read("UNIGATE_MESH_KEY", files.key),
    read("UNIGATE_MESH_CA", files.authority),
  ]);
  const own = certificatesIn("UNIGATE_MESH_CERT", files.certificate, certificate)[0];
  certificatesIn("UNIGATE_MESH_CA", files.authority, authority);
  if (!own.checkPrivateKey(privateKeyIn(files.key, key)))
    throw new CertificateError(
      `UNIGATE_MESH_KEY (${files.key}) is not the key of the certificate in UNIGATE_MESH_CERT (${files.certificate})`,
    );
  const named = meshServicesOf(own.subjectAltName);
  const missing = services.filter((service) => !named.includes(service));
  if (missing.length > 0) {
    throw new CertificateError(
      `UNIGATE_MESH_CERT (${files.certificate}) names ${named.map(nameOfService).join(", ") || "no service"}; this process runs ${services.join(", ")}: add ${missing.map((service) => `URI:${nameOfService(service)}`).join(", ")} to its alternative names`,
    );
  }
  const certificates = { certificate, key, authority };
  try {
    createSecureContext({ cert: certificate, key, ca: authority });
  } catch (error) {
    throw new CertificateError(`UNIGATE_MESH_CERT (${files.certificate}) cannot be used: ${wordsOf(error)}`);
  }
  return { ...certificates, validFrom: new Date(own.validFrom), validTo: new Date(own.validTo) };
}

async function read(variable: string, path: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw new CertificateError(`${variable} (${path}) cannot be read: ${wordsOf(error)}`);
  }
  if (bytes.length <= MAX_BYTES) return bytes;
  throw new CertificateError(`${variable} (${path}) has ${bytes.length} bytes; a PEM file of certificates has at most ${MAX_BYTES}`);
}

function certificatesIn(variable: string, path: string, bytes: Buffer): readonly [X509Certificate, ...X509Certificate[]] {
  const blocks = bytes.toString("latin1").match(PEM_CERTIFICATE) ?? [];
  try {
    const [first, ...more] = blocks.map((block) => new X509Certificate(block));
    if (first !== undefined) return [first, ...more];
  } catch (error) {
    throw new CertificateError(`${variable} (${path}) holds a damaged certificate: ${wordsOf(error)}`);
  }
  throw new CertificateError(`${variable} (${path}) holds no certificate; expected PEM, "-----BEGIN CERTIFICATE-----"`);
}

function privateKeyIn(path: string, bytes: Buffer): KeyObject {
  try {
    return createPrivateKey(bytes);
  } catch {
    // The cause may quote the file.
    throw new CertificateError(`UNIGATE_MESH_KEY (${path}) holds no private key in PEM without a passphrase`);
  }
}

export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
