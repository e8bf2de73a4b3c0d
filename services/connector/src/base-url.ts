import { GatewayError } from "@unigate/core";
import type { EgressGuard } from "@unigate/http";
import type { Provider } from "@unigate/providers";

/** Where a request goes, taken apart as the sender wants it. */
export interface Destination {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  /** A provider's own, fixed address: not checked by the egress guard. */
  readonly trusted: boolean;
}

interface Base {
  readonly origin: string;
  /** Without a trailing slash. */
  readonly path: string;
  /** "?a=b" or "". */
  readonly search: string;
}

const MAX_KNOWN = 1_000;

/** Finds destinations; bases are taken apart once. */
export interface BaseUrls {
  /**
   * The custom host in place of the provider's base URL, then the endpoint's path. A query of the custom host is kept
   * and merged; a trailing slash makes no difference (DESIGN 8.3). Throws invalid_custom_host.
   */
  destination(provider: Provider, customHost: string, path: string): Destination;
}

export function createBaseUrls(guard: EgressGuard): BaseUrls {
  const known = new Map<string, Base>();

  function baseOf(text: string, checked: boolean): Base {
    const key = `${checked}${text}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const base = taken(checked ? checkedUrl(text) : new URL(text));
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(key, base);
    return base;
  }

  function checkedUrl(text: string): URL {
    const verdict = guard.checkUrl(text);
    if (verdict.ok) return verdict.url;
    throw new GatewayError("invalid_custom_host", `The custom host is not allowed: ${verdict.reason}`, { param: "custom_host" });
  }

  return {
    destination(provider, customHost, path) {
      if (customHost === "" && provider.baseUrl === null) {
        throw new GatewayError("invalid_custom_host", `Provider "${provider.id}" has no public address: set custom_host.`, {
          param: "custom_host",
        });
      }
      // A keyless provider's base is a machine of the user's: the guard decides about it as about a custom host.
      const guarded = customHost !== "" || provider.keyless;
      const base = baseOf(customHost === "" ? (provider.baseUrl ?? "") : customHost, guarded && provider.local === undefined);
      return { origin: base.origin, path: joinedPath(base, path), trusted: !guarded };
    },
  };
}

function taken(url: URL): Base {
  return { origin: url.origin, path: url.pathname.replace(/\/+$/, ""), search: url.search };
}

/** Appends as text. Dot segments are refused: an upstream would resolve them and so leave the base. */
function joinedPath(base: Base, path: string): string {
  const mark = path.indexOf("?");
  const pathname = mark < 0 ? path : path.slice(0, mark);
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(pathname) || pathname.includes("\\") || pathname.includes("#")) {
    throw new GatewayError("invalid_request", "The path must not hold dot segments, backslashes or fragments.");
  }
  const query = mark < 0 ? "" : path.slice(mark + 1);
  if (base.search === "") return base.path + path;
  return `${base.path}${pathname}${base.search}${query === "" ? "" : `&${query}`}`;
}
