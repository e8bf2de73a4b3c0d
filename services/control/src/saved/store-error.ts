/** The store of saved things cannot be used as it is. Told to the person who starts it, in one line. */
export class SavedStoreError extends Error {
  override readonly name = "SavedStoreError";
}

/** What a store remembers of the master key that its secrets are sealed under, and where this process has its own from. */
export interface MasterKeyMark {
  /** `fingerprint` of the sealer, of `MASTER_KEY_TEXT`. */
  readonly fingerprint: string;
  /** The variable or file to correct: "UNIGATE_MASTER_KEY", ".unigate/master.key". */
  readonly source: string;
}

export const MASTER_KEY_TEXT = "the master key of saved things";

/** Throws when `found` was written under another master key. `place` is the store, as a person knows it. */
export function checkMasterKey(found: string, own: MasterKeyMark, place: string): void {
  if (found === own.fingerprint) return;
  throw new SavedStoreError(
    `the secrets in ${place} are sealed under another master key (mark ${found}) than that of ${own.source} (mark ${own.fingerprint}): put the former key into ${own.source}, or give this process a store of its own (UNIGATE_DATA_DIR, UNIGATE_DATABASE_URL)`,
  );
}
