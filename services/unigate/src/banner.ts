import type { StartFacts } from "./module.ts";
import { version } from "./version.ts";

/** What the start message is made of. */
export interface BannerFacts {
  readonly host: string;
  readonly port: number;
  readonly facts: StartFacts;
  readonly tookMs: number;
  readonly mode: string;
}

/** The start message: the address, new keys (shown this once) and a line to paste. */
export function banner({ host, port, facts, tookMs, mode }: BannerFacts): string {
  const shown = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  const base = `http://${shown}:${port}/v1`;
  const lines = [`Unigate ${version} is ready at ${base} (${mode}, ${(tookMs / 1_000).toFixed(1)} s)`, ""];
  lines.push(...firstKeyLines(facts));
  const key = facts.workspaceKey ?? "$UNIGATE_KEY";
  lines.push("Try it:", "", `  ${curlLine(base, key)}`, "");
  return lines.join("\n");
}

/** The keys that this start made, for whoever starts it to keep; empty when it made none. */
export function firstKeyLines({ adminKey, workspaceKey }: StartFacts): string[] {
  const lines: string[] = [];
  if (adminKey !== undefined) lines.push(`  admin key:     ${adminKey}`);
  if (workspaceKey !== undefined) lines.push(`  workspace key: ${workspaceKey}`);
  if (lines.length > 0) lines.push("  Keep them: only their hashes are stored, and they are not shown again.", "");
  return lines;
}

/** One line that works as it is: the mock provider needs no key of its own. */
function curlLine(base: string, key: string): string {
  const body = '{"model":"mock-1","messages":[{"role":"user","content":"Hello"}]}';
  return `curl ${base}/chat/completions -H "x-gateway-api-key: ${key}" -H "x-gateway-provider: mock" -H "content-type: application/json" -d '${body}'`;
}
