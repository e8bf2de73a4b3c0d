import type { Run } from "./run-state.ts";
import { decisionRecord } from "./tried.ts";

/** The header or trailer that tells a decision. */
export const DECISION = "x-gateway-decision";
/** Longer ones come as a trailer: many a client takes no more than 16 KiB of headers. */
const MAX_HEADER = 8 * 1024;

/** The decision as JSON in ASCII, where the request asks for it (`x-gateway-debug-decision: true`); null when it does not. */
export function decisionText(run: Run): string | null {
  if (!run.request.tellDecision) return null;
  const { id, version } = run.config;
  const config = id === "" ? null : { id, version: version === "" ? null : version };
  const text = JSON.stringify({ config, ...decisionRecord(run) });
  return text.replace(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Whether it has to be a trailer. */
export function isTrailer(text: string): boolean {
  return text.length > MAX_HEADER;
}
