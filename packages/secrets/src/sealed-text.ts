import { Sealed } from "@unigate/contracts";
import { SecretError } from "./secret-error.ts";

/** base64 of an encoded Sealed message: the form of `sealed_credentials` in a saved config. */
export function sealedToText(sealed: Sealed): string {
  return Buffer.from(Sealed.encode(sealed).finish()).toString("base64");
}

/** The Sealed message of such a text. Throws SecretError "tampered" when it is none. */
export function sealedFromText(text: string): Sealed {
  try {
    return Sealed.decode(Buffer.from(text, "base64"));
  } catch {
    throw new SecretError("tampered", "sealed_credentials is not a sealed value");
  }
}
