import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { bitString, commonName, identifier, integer, sequence, tagged, time } from "./der.ts";

/** Who signs certificates: whatever it signs is believed by those who have its own. */
export interface Authority {
  /** Its own certificate, PEM. */
  readonly certificate: Buffer;
  readonly key: KeyObject;
}

export interface Validity {
  readonly from: Date;
  readonly to: Date;
}

/** What a certificate says of its owner. */
export interface CertificateNames {
  /** Common name, which nobody asks for. */
  readonly subject: string;
  readonly uris: readonly string[];
  readonly dnsNames?: readonly string[];
}

function privateKeyIn(key: Buffer): KeyObject {
  try {
    return createPrivateKey(key);
  } catch {
    // The cause may quote the key.
    throw new Error("the key is no private key in PEM without a passphrase");
  }
}

const COMMON_NAME = /^CN=[^\n]+$/;

/** Node reads certificates and makes none: these are written here, RFC 5280, with keys on P-256. */
export function makeAuthority(name: string, validity: Validity): Authority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const extensions = [basicConstraints(true), keyUsage(SIGNS_CERTIFICATES), subjectKey(publicKey)];
  return { certificate: signed({ issuer: name, subject: name, publicKey, validity, extensions }, privateKey), key: privateKey };
}

/**
 * An authority that was written down, both PEM. Throws when one of the two is none, when the key is another's, and when
 * it is not one as `makeAuthority` makes: what it signs names its common name only.
 */
export function readAuthority(certificate: Buffer, key: Buffer): Authority {
  const read = { certificate, key: privateKeyIn(key) };
  const own = new X509Certificate(certificate);
  if (!own.checkPrivateKey(read.key)) throw new Error("the key is not that of the certificate");
  if (!own.ca || !COMMON_NAME.test(own.subject)) throw new Error("the certificate is not that of an authority with a common name alone");
  return read;
}

/** A certificate for servers and clients, and its new key, both PEM. */
export function issueCertificate(authority: Authority, names: CertificateNames, validity: Validity): { certificate: Buffer; key: Buffer } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const issuer = new X509Certificate(authority.certificate).subject.replace(/^CN=/, "");
  const keys = [subjectKey(publicKey), authorityKey(createPublicKey(authority.key))];
  const extensions = [basicConstraints(false), keyUsage(SIGNS), FOR_SERVERS_AND_CLIENTS, ...keys, ...alternativeNames(names)];
  return {
    certificate: signed({ issuer, subject: names.subject, publicKey, validity, extensions }, authority.key),
    key: Buffer.from(privateKey.export({ type: "pkcs8", format: "pem" })),
  };
}

interface Wanted {
  readonly issuer: string;
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

const ECDSA_WITH_SHA256 = sequence(identifier("2a8648ce3d040302"));

/** RFC 5280, section 4.1. */
function signed({ issuer, subject, publicKey, validity, extensions }: Wanted, key: KeyObject): Buffer {
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    commonName(issuer),
    sequence(time(validity.from), time(validity.to)),
    commonName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const der = sequence(body, ECDSA_WITH_SHA256, bitString(sign("sha256", body, key)));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return Buffer.from(`-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`);
}

const CRITICAL = tagged(0x01, Buffer.from([0xff]));

function basicConstraints(isAuthority: boolean): Buffer {
  const value = isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence();
  return sequence(identifier("551d13"), CRITICAL, tagged(0x04, value));
}

/** Bits of a key's usage, and how many of the byte are unused. */
const SIGNS = [0x80, 7] as const;
const SIGNS_CERTIFICATES = [0x06, 1] as const;

function keyUsage([bits, unused]: readonly [number, number]): Buffer {
  return sequence(identifier("551d0f"), CRITICAL, tagged(0x04, bitString(Buffer.from([bits]), unused)));
}

const FOR_SERVERS_AND_CLIENTS = sequence(
  identifier("551d25"),
  tagged(0x04, sequence(identifier("2b06010505070301"), identifier("2b06010505070302"))),
);

function subjectKey(key: KeyObject): Buffer {
  return sequence(identifier("551d0e"), tagged(0x04, tagged(0x04, fingerprint(key))));
}

function authorityKey(key: KeyObject): Buffer {
  return sequence(identifier("551d23"), tagged(0x04, sequence(tagged(0x80, fingerprint(key)))));
}

function fingerprint(key: KeyObject): Buffer {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest()
    .subarray(0, 20);
}

/** None for a certificate that names nobody. */
function alternativeNames({ uris, dnsNames = [] }: CertificateNames): Buffer[] {
  if (uris.length + dnsNames.length === 0) return [];
  const names = [...uris.map((uri) => tagged(0x86, Buffer.from(uri))), ...dnsNames.map((name) => tagged(0x82, Buffer.from(name)))];
  return [sequence(identifier("551d11"), tagged(0x04, sequence(...names)))];
}
