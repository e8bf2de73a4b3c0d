import { GatewayError, type Secret } from "@unigate/core";

/** The text of a credential as a header may carry it; see `headerText`. */
export function headerValue(secret: Secret, field: string): string {
  return headerText(secret.reveal(), field);
}

/**
 * A config value as a header may carry it: spaces around it removed (a pasted line break is the usual mistake).
 * Throws `invalid_header`, naming the field and never the text, when something else in it no header may carry.
 */
export function headerText(text: string, field: string): string {
  const trimmed = text.trim();
  for (let at = 0; at < trimmed.length; at++) {
    const unit = trimmed.charCodeAt(at);
    if (unit < 0x20 || unit > 0x7e) {
      throw new GatewayError(
        "invalid_header",
        `The value of "${field}" holds a character that no HTTP header may carry; check how it was pasted.`,
      );
    }
  }
  return trimmed;
}
