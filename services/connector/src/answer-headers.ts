import type { Header } from "@unigate/contracts";
import type { SecretMask } from "./mask-secrets.ts";

/** Hop-by-hop, or about bytes that are not the ones sent on. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
/** Of no use, or harmful, on a translated answer. */
const NOT_TRANSLATED = new Set([
  "content-length",
  "content-encoding",
  "content-type",
  "date",
  "set-cookie",
  "strict-transport-security",
  "alt-svc",
  "server",
  "vary",
]);

/** Upstream headers for the client of a translated answer; of a refusal with its `mask`. */
export function translatedHeaders(headers: Readonly<Record<string, string>>, mask?: SecretMask): Header[] {
  const kept: Header[] = [];
  for (const name in headers) {
    if (HOP_BY_HOP.has(name) || NOT_TRANSLATED.has(name)) continue;
    const value = headers[name] ?? "";
    kept.push({ name, value: mask === undefined ? value : mask.text(value) });
  }
  return kept;
}

/** Upstream headers for the client of a proxied answer: all but hop-by-hop ones, in their order, with duplicates. */
export function proxiedHeaders(raw: readonly string[]): Header[] {
  const kept: Header[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = (raw[index] ?? "").toLowerCase();
    if (!HOP_BY_HOP.has(name)) kept.push({ name, value: raw[index + 1] ?? "" });
  }
  return kept;
}
