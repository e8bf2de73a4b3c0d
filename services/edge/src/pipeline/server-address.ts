import type { ResolvedTarget } from "./steps/resolve-target.ts";

/** Hosts by the URLs they are in: a URL is taken apart once. */
const hosts = new Map<string, string | null>();
const MAX_HOSTS = 1_000;

/** The host that a target is called at; null when there is none, or when it is put together from settings. */
export function serverAddress({ provider, target }: ResolvedTarget): string | null {
  if (provider.local !== undefined) return null;
  const url = target.customHost === "" ? provider.baseUrl : target.customHost;
  if (url === null) return null;
  const known = hosts.get(url);
  if (known !== undefined) return known;
  const host = hostOf(url);
  if (hosts.size >= MAX_HOSTS) hosts.clear();
  hosts.set(url, host);
  return host;
}

function hostOf(url: string): string | null {
  const { hostname = "" } = URL.canParse(url) ? new URL(url) : {};
  return hostname === "" ? null : hostname;
}
