import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { Blame, type Header, type ReplyPart } from "@unigate/contracts";
import type { Exchange } from "@unigate/http";
import { proxiedHeaders } from "./answer-headers.ts";
import type { SecretMask } from "./mask-secrets.ts";
import { chunkParts, endPart, headPart } from "./parts.ts";

const DECODERS: Readonly<Record<string, typeof gunzipSync>> = { gzip: gunzipSync, br: brotliDecompressSync, deflate: inflateSync };
/** A body that gets larger is passed on as it came. */
const MAX_DECODED = 4 * 1024 * 1024;

/** A proxied refusal: as received, but for a credential that the provider repeats in it. */
export function* passError(answer: Exchange, body: Buffer, mask: SecretMask): Generator<ReplyPart> {
  const plain = decoded(body, answer.headers["content-encoding"]);
  const masked = mask.body(plain);
  // The length is set anew where the answer is written.
  const left = masked === plain ? ["content-length"] : ["content-length", "content-encoding"];
  const headers: Header[] = [];
  for (const { name, value } of proxiedHeaders(answer.rawHeaders))
    if (!left.includes(name)) headers.push({ name, value: mask.text(value) });
  const { status, upstreamMs } = answer;
  yield headPart({ status, headers, blame: Blame.UNSPECIFIED, bytesSent: true, upstreamMs, transformed: false, failure: undefined });
  yield* chunkParts(masked === plain ? body : masked);
  yield endPart({ complete: true });
}

function decoded(body: Buffer, encoding: string | undefined): Buffer {
  const decode = DECODERS[encoding ?? ""];
  if (decode === undefined) return body;
  try {
    return decode(body, { maxOutputLength: MAX_DECODED });
  } catch {
    return body;
  }
}
