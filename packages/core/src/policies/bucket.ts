import { createHash } from "node:crypto";
import { contextValue, type PolicyContext } from "./context.ts";

/** Longest text that stands for itself, characters; users choose what is in it. */
const MAX_TEXT = 200;
/** Of a policy without groups. */
const DEFAULT_BUCKET = "default";

/**
 * Whose share of a policy a request takes from; null when it lacks a value of a group. Requests share a bucket only
 * when they agree in all values: the values are written as JSON, where no separator can be forged, and a long text is
 * replaced by its SHA-256.
 */
export function bucketOf(groups: readonly string[], context: PolicyContext): string | null {
  if (groups.length === 0) return DEFAULT_BUCKET;
  const words: string[] = [];
  for (const key of groups) {
    const value = contextValue(context, key);
    if (value === "") return null;
    words.push(key, value);
  }
  const text = JSON.stringify(words);
  return text.length <= MAX_TEXT ? text : `#${createHash("sha256").update(text).digest("base64url")}`;
}
