import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import type { CertificateSource, MeshCertificates } from "@unigate/rpc";

/** Signs certificates of a test's own mesh; nothing outside of the test trusts it. */
export interface TestAuthority {
  /** PEM. */
  readonly authority: Buffer;
  /** A certificate with these alternative names, by default valid from an hour ago for a day. */
  issue(uris: readonly string[], validity?: Validity): MeshCertificates;
  /** One for services of the mesh: "spiffe://unigate/<service>" each. */
  issueFor(services: readonly string[], validity?: Validity): MeshCertificates;
}

export interface Validity {
  readonly from?: Date;
  readonly to?: Date;
}

const HOUR_MS = 3_600_000;

/** Makes an authority with a key of its own. All of it is written here, byte by byte: Node reads certificates and makes none. */
export function createTestAuthority(name = "test authority"): TestAuthority {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const issuer: Issuer = { name, key: privateKey };
  const authority = certificate({ issuer, subject: name, publicKey, validity: {}, extensions: [basicConstraints(true)] });
  function issue(uris: readonly string[], validity: Validity = {}): MeshCertificates {
    const own = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const extensions = [basicConstraints(false), ...(uris.length === 0 ? [] : [alternativeNames(uris)])];
    return {
      certificate: certificate({ issuer, subject: "service", publicKey: own.publicKey, validity, extensions }),
      key: Buffer.from(own.privateKey.export({ type: "pkcs8", format: "pem" })),
      authority,
    };
  }
  return {
    authority,
    issue,
    issueFor: (services, validity) =>
      issue(
        services.map((service) => `spiffe://unigate/${service}`),
        validity,
      ),
  };
}

/** A source whose certificates a test replaces. */
export interface TestCertificateSource extends CertificateSource {
  replace(certificates: MeshCertificates): void;
}

export function certificateSource(first: MeshCertificates): TestCertificateSource {
  let current = first;
  const listeners = new Set<(certificates: MeshCertificates) => void>();
  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    replace(certificates) {
      current = certificates;
      for (const listener of listeners) listener(certificates);
    },
  };
}

interface Issuer {
  readonly name: string;
  readonly key: KeyObject;
}

interface Wanted {
  readonly issuer: Issuer;
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly validity: Validity;
  readonly extensions: readonly Buffer[];
}

/** RFC 5280, section 4.1. */
function certificate({ issuer, subject, publicKey, validity, extensions }: Wanted): Buffer {
  const from = validity.from ?? new Date(Date.now() - HOUR_MS);
  const to = validity.to ?? new Date(Date.now() + 24 * HOUR_MS);
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    commonName(issuer.name),
    sequence(time(from), time(to)),
    commonName(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", body, issuer.key);
  const der = sequence(body, ECDSA_WITH_SHA256, bitString(signature));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return Buffer.from(`-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`);
}

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function identifier(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

function bitString(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.from([0]), bytes);
}

function commonName(name: string): Buffer {
  return sequence(tagged(0x31, sequence(identifier("550403"), tagged(0x0c, Buffer.from(name)))));
}

/** As a GeneralizedTime. */
function time(date: Date): Buffer {
  return tagged(0x18, Buffer.from(date.toISOString().replaceAll(/[-:T]|\.\d+/g, "")));
}

function basicConstraints(isAuthority: boolean): Buffer {
  const value = isAuthority ? sequence(tagged(0x01, Buffer.from([0xff]))) : sequence();
  return sequence(identifier("551d13"), tagged(0x01, Buffer.from([0xff])), tagged(0x04, value));
}

function alternativeNames(uris: readonly string[]): Buffer {
  const names = sequence(...uris.map((uri) => tagged(0x86, Buffer.from(uri))));
  return sequence(identifier("551d11"), tagged(0x04, names));
}

const ECDSA_WITH_SHA256 = sequence(identifier("2a8648ce3d040302"));
