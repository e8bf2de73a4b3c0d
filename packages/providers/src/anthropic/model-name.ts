/** How a model is told to think: not at all, by a budget of tokens, or by an effort while it decides itself ("adaptive"). */
export type ThinkingKind = "none" | "budget" | "adaptive";

/** `claude-opus-4-6`, `claude-3-7-sonnet-20250219`: version numbers have one or two digits, dates eight. */
const VERSION = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/;

/** The version in a Claude model's name as a comparable number (4.6 = 406), or null. */
export function versionOf(model: string): number | null {
  const found = VERSION.exec(model.slice(0, 200));
  return found === null ? null : Number(found[1]) * 100 + Number(found[2] ?? 0);
}

/**
 * How to make a model think. Names without a known version (compatible services, aliases) take a budget, the form
 * that is older and more widely understood.
 */
export function thinkingKindOf(model: string): ThinkingKind {
  const version = versionOf(model);
  if (version === null) return "budget";
  if (version >= 406) return "adaptive";
  return version >= 307 ? "budget" : "none";
}
