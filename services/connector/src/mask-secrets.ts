import { bufferOfJson, type Credentials, jsonOf } from "@unigate/core";
import type { ProviderError } from "@unigate/providers";

/** Shorter values are no secrets, and masking them would blank out harmless words. */
const LEAST_LENGTH = 8;
/** What stands in place of a secret. */
export const MASK = "[redacted]";

/**
 * What an upstream says of a request that it refuses may repeat the credential it was sent ("Incorrect API key
 * provided: sk-..."). That belongs to the organisation, not to whoever may use it: it is masked before anybody reads
 * it, in every way of writing it that is common. Answers that succeeded are passed on untouched.
 */
export interface SecretMask {
  text(text: string): string;
  /** The same buffer when nothing was found. */
  body(body: Buffer): Buffer;
  error(error: ProviderError): ProviderError;
}

export function maskOf(credentials: Credentials): SecretMask {
  const forms = new Set<string>();
  for (const secret of Object.values(credentials)) {
    const value = secret.reveal();
    if (value.length < LEAST_LENGTH) continue;
    forms.add(value).add(JSON.stringify(value).slice(1, -1)).add(encodeURIComponent(value));
  }
  // The longest first: one form may stand inside another.
  const secrets = [...forms].toSorted((a, b) => b.length - a.length);
  const text = (from: string): string => secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), from);
  return {
    text,
    body: (body) => (secrets.some((secret) => body.includes(secret)) ? Buffer.from(text(body.toString("utf8"))) : body),
    error: (error) => jsonOf(Buffer.from(text(bufferOfJson(error).toString("utf8")))) as ProviderError,
  };
}
