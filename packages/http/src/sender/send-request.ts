/**
 * Where a request goes: a URL, or its parts when they are known already (spares taking a URL object apart). `origin` is
 * spelled as `URL.origin` gives it; `path` starts with "/" and may hold a query.
 */
export type Destination = URL | { readonly origin: string; readonly path: string };

/** One request. Nothing is added but `host`, `connection` and the length; nothing is decoded; redirects are answers. */
export interface SendRequest {
  readonly method: string;
  readonly url: Destination;
  /** By name, or names and values in turn. `host`, `expect` and hop-by-hop names are refused: `invalid_request`. */
  readonly headers: Record<string, string> | string[];
  /** An iterable is read once, as fast as the upstream takes it; such a request is never sent again. */
  readonly body: Buffer | AsyncIterable<Buffer> | null;
  /** For a connection, name resolution, TLS and waiting for a free one included, ms. 0 = no bound but the call's. */
  readonly connectTimeoutMs: number;
  /** From the last byte of the request to the head of the answer, ms. 0 = no bound but the call's. */
  readonly headersTimeoutMs: number;
  /**
   * True only for a provider's own, fixed address. Whatever a user had a hand in (custom host, region or resource name,
   * webhook, image) is false: checked by the egress guard, on connections of its own.
   */
  readonly trusted: boolean;
}

/** Whether the headers name a host: certificates are checked against the URL's, so there is no other. */
export function namesHost(headers: SendRequest["headers"]): boolean {
  if (Array.isArray(headers)) return headers.some((text, index) => index % 2 === 0 && isHost(text));
  for (const name in headers) if (isHost(name)) return true;
  return false;
}

function isHost(name: string): boolean {
  return name.length === 4 && name.toLowerCase() === "host";
}
