import { headerForCheck } from "@unigate/core";
import { CheckParameterError } from "./define.ts";

const MAX_NAMES = 50;

/**
 * The parameter `forwardHeaders` of a check that asks another system: names of client headers to pass on to it
 * (behaviour 7.2), absent = none. Throws CheckParameterError on a name that may never be passed on.
 */
export function readForwardHeaders(value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > MAX_NAMES)
    throw new CheckParameterError("forwardHeaders", `an array of at most ${MAX_NAMES} header names`);
  return value.map((name: unknown, index) => {
    const passed = typeof name === "string" ? headerForCheck(name) : null;
    if (passed !== null) return passed;
    throw new CheckParameterError(
      `forwardHeaders[${index}]`,
      "a header that is no credential, no cookie, none of the connection and none of the gateway but its trace and span id",
    );
  });
}

/** Those of the named headers that the client sent. */
export function forwarded(names: readonly string[], headers: Readonly<Record<string, string>>): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (value !== undefined) found[name] = value;
  }
  return found;
}
