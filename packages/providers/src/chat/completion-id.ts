import type { BuildInput } from "../define.ts";

/** The id of an answer that came without one: the same for the whole stream (behaviour section 8). */
export function completionId(provider: string, input: BuildInput): string {
  return `${provider}-${input.created * 1000}`;
}
