/** What was found about an address that a user gave. `reason` completes the sentence "The address is refused: ". */
export type UrlVerdict = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly reason: string };

const MAX_LENGTH = 2048;
const MAX_LABELS = 10;
/** Control characters, space, and what parsers of URLs disagree about. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const FORBIDDEN = /[\u0000-\u0020\u007f<>{}|\\^]/;
const LABEL = /^[a-z0-9-]{1,63}$/;
const PORT = /^\d{1,5}$/;

/**
 * The rules of spelling for an address from a user (behaviour 1.3): only forms that every parser reads alike. What the
 * host leads to is not looked at here.
 */
export function readUserUrl(text: string): UrlVerdict {
  if (text.length > MAX_LENGTH) return refused(`it is longer than ${MAX_LENGTH} characters`);
  if (FORBIDDEN.test(text)) return refused("it contains a space, a control character or one of <>{}|\\^");
  if (text.includes("@")) return refused("it contains @");
  if (text.includes("#")) return refused("it contains a fragment (#)");
  const scheme = /^https?:\/\//i.exec(text)?.[0];
  if (scheme === undefined) return refused("it does not start with http:// or https://");
  if (!URL.canParse(text)) return refused("it is not a URL");
  const url = new URL(text);
  const authority = /^[^/?]*/.exec(text.slice(scheme.length))?.[0] ?? "";
  const fault = hostFault(authority, url);
  return fault === null ? { ok: true, url } : refused(fault);
}

/** Why the authority may not be used; null when it may. */
function hostFault(authority: string, url: URL): string | null {
  const portAt = authority.indexOf(":", Math.max(authority.indexOf("]"), 0));
  if (portAt >= 0) {
    const port = authority.slice(portAt + 1);
    if (!PORT.test(port) || Number(port) < 1) return "its port is not between 1 and 65535";
  }
  const host = (portAt < 0 ? authority : authority.slice(0, portAt)).toLowerCase();
  if (host.startsWith("[") && url.hostname.startsWith("[")) return null;
  // WHATWG parsing turns 2130706433, 0x7f.1, 017700000001, %31 and full-width digits into plain addresses and names.
  if (host !== url.hostname) return `its host is not written plainly (it means "${url.hostname}")`;
  if (host.endsWith(".")) return "its host ends with a dot";
  const labels = host.split(".");
  if (labels.length > MAX_LABELS) return `its host has more than ${MAX_LABELS} labels`;
  if (host.length > 253 || !labels.every((label) => LABEL.test(label))) return "its host is not made of a-z, 0-9, hyphens and single dots";
  return null;
}

function refused(reason: string): UrlVerdict {
  return { ok: false, reason };
}
