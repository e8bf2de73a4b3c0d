/** Why a sealed value could not be opened, or a master key not be used. */
export type SecretErrorCode =
  /** The value was sealed under another master key. */
  | "wrong_master_key"
  /** The value belongs to another organisation or resource. */
  | "moved"
  /** The value was changed after it was sealed, or is no sealed value at all. */
  | "tampered"
  /** What was to be sealed cannot be: an organisation id with a slash. */
  | "bad_place"
  /** The text or file is no master key. */
  | "bad_master_key";

/** A fault with a secret. Its message never holds any part of a secret or of a key. */
export class SecretError extends Error {
  override readonly name = "SecretError";
  readonly code: SecretErrorCode;

  constructor(code: SecretErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
