import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

/** Bytes of an AES-256-GCM nonce. */
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = "aes-256-gcm";

/** What encryption gives: the nonce apart, the tag at the end of the ciphertext. */
interface Encrypted {
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
}

/** AES-256-GCM with a fresh random nonce; `place` is authenticated beside the text. */
export function encrypt(key: Buffer, plain: Buffer, place: Buffer): Encrypted {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(place);
  return { nonce, ciphertext: Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]) };
}

/** The plain text, or null when key, nonce, ciphertext and place do not belong together. */
export function decrypt(key: Buffer, nonce: Buffer, ciphertext: Buffer, place: Buffer): Buffer | null {
  if (nonce.length !== NONCE_BYTES || ciphertext.length < TAG_BYTES) return null;
  const tagAt = ciphertext.length - TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(place)
    .setAuthTag(ciphertext.subarray(tagAt));
  const plain = decipher.update(ciphertext.subarray(0, tagAt));
  try {
    decipher.final();
  } catch {
    return null;
  }
  return plain;
}
