import type { CertificateSource, MeshCertificates } from "@unigate/rpc";
import { type CertificateFiles, type Logger, markOf, pollFile } from "@unigate/runtime";
import { expiryOf } from "./certificate-expiry.ts";
import { CertificateError, type ReadCertificates, readCertificates } from "./read-certificates.ts";

/** Certificates of three files that are followed. */
export interface FollowedCertificates extends CertificateSource {
  /** Until when the own certificate is valid, Unix s. */
  expiresAt(): number;
  close(): void;
}

export interface FollowOptions {
  readonly log: Logger;
  /** How often the files are looked at, ms; default 2,000. */
  readonly pollMs?: number;
}

const POLL_MS = 2_000;
const EXPIRY_MS = 60_000;

/**
 * Reads the certificates of a process that runs `services` and follows their files: good new ones take their place, bad
 * new ones are logged once and change nothing. Also logs once when the own one is about to expire, and when it has.
 * @throws CertificateError when those of the start are no good.
 */
export async function followCertificates(
  files: CertificateFiles,
  services: readonly string[],
  { log, pollMs = POLL_MS }: FollowOptions,
): Promise<FollowedCertificates> {
  const look = async () => (await Promise.all([files.certificate, files.key, files.authority].map(markOf))).join();
  // Before they are read, so that a change in between is seen.
  const mark = await look();
  let current = await readCertificates(files, services);
  const listeners = new Set<(certificates: MeshCertificates) => void>();
  let told = "";

  function tellExpiry(): void {
    const expiry = expiryOf(current, Date.now());
    const state = `${expiry} ${current.validTo.getTime()}`;
    if (state === told) return;
    told = state;
    const facts = { file: files.certificate, validTo: current.validTo.toISOString() };
    if (expiry === "soon") log.warn(facts, "the certificate of this process is about to expire");
    if (expiry === "expired") log.error(facts, "the certificate of this process has expired: the mesh refuses it");
  }

  async function reload(): Promise<void> {
    let next: ReadCertificates;
    try {
      next = await readCertificates(files, services);
      if (expiryOf(next, Date.now()) === "expired" && next.validTo < current.validTo)
        throw new CertificateError(`UNIGATE_MESH_CERT (${files.certificate}) has expired: it was valid to ${next.validTo.toISOString()}`);
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error;
      return log.error({ error: error.message }, "new certificates cannot be used; those before stay in use");
    }
    current = next;
    log.info({ file: files.certificate, validTo: next.validTo.toISOString() }, "new certificates are in use for new connections");
    tellExpiry();
    for (const listener of listeners) listener(next);
  }

  tellExpiry();
  const stop = pollFile(look, mark, pollMs, reload);
  const timer = setInterval(tellExpiry, EXPIRY_MS).unref();
  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    expiresAt: () => Math.floor(current.validTo.getTime() / 1_000),
    close() {
      stop();
      clearInterval(timer);
    },
  };
}
