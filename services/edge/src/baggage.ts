/** Longer headers, and members past the number, are left out (W3C Baggage, limits). */
const MAX_LENGTH = 8_192;
const MAX_MEMBERS = 180;
const KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;

/**
 * What the `baggage` header of a trace carries, for metadata that the client does not send itself (behaviour 4). What is
 * no baggage counts as not sent: it may come from anywhere on the way.
 */
export function readBaggage(text: string | undefined): Readonly<Record<string, string>> | null {
  if (text === undefined || text === "" || text.length > MAX_LENGTH) return null;
  const found: Record<string, string> = {};
  for (const member of text.split(",", MAX_MEMBERS)) {
    const [pair = ""] = member.split(";", 1);
    const at = pair.indexOf("=");
    const key = pair.slice(0, Math.max(0, at)).trim();
    if (!KEY.test(key) || key === "__proto__") continue;
    const value = decoded(pair.slice(at + 1).trim());
    if (value !== null) found[key] = value;
  }
  return found;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
