import { type CertificateSource, type MeshCertificates, nameOfService } from "@unigate/rpc";
import { issueCertificate, makeAuthority } from "@unigate/secrets";

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

/** Makes an authority with a key of its own. */
export function createTestAuthority(name = "test authority"): TestAuthority {
  const signer = makeAuthority(name, within({}));
  function issue(uris: readonly string[], validity: Validity = {}): MeshCertificates {
    return { ...issueCertificate(signer, { subject: "service", uris }, within(validity)), authority: signer.certificate };
  }
  return {
    authority: signer.certificate,
    issue,
    issueFor: (services, validity) => issue(services.map(nameOfService), validity),
  };
}

function within({ from, to }: Validity): { from: Date; to: Date } {
  return { from: from ?? new Date(Date.now() - HOUR_MS), to: to ?? new Date(Date.now() + 24 * HOUR_MS) };
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
