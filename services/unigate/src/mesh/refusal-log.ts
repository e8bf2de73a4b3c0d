import type { Refused } from "@unigate/rpc";
import type { Logger } from "@unigate/runtime";

const EVERY_MS = 60_000;
/** Peers and reasons that are remembered; of more only the number is told. */
const MAX_REMEMBERED = 1_000;

/** Logs what a server refuses: once a minute for each peer and reason, however often it comes. `now` gives ms. */
export function refusalLog(log: Logger, now: () => number = Date.now): (refused: Refused) => void {
  let begun = now();
  let seen = new Set<string>();
  let untold = 0;
  return ({ reason, address, text }) => {
    if (now() - begun >= EVERY_MS) {
      if (untold > 0) log.warn({ refused: untold }, "more callers were refused than are told one by one");
      begun = now();
      seen = new Set();
      untold = 0;
    }
    const key = `${reason} ${hostOf(address)}`;
    if (seen.has(key)) return;
    if (seen.size >= MAX_REMEMBERED) {
      untold += 1;
      return;
    }
    seen.add(key);
    log.warn({ reason, address, text }, "a caller was refused");
  };
}

/** Each connection has a port of its own. */
function hostOf(address: string): string {
  return address.replace(/:\d+$/, "");
}
