/** Longest piece of an unreadable answer that an error message quotes, in characters. */
const QUOTED = 500;
/** Longest error text of a provider that is passed on, in characters. */
const LONGEST = 8_000;

/** At most `length` characters of a text, never half of a surrogate pair. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** A provider's own words, bounded. */
export function providerText(text: string): string {
  return cut(text, LONGEST);
}

/** The message of an error whose body says nothing readable (behaviour section 5). */
export function unreadableText(provider: string, body: string): string {
  const text = cut(body.trim(), QUOTED);
  return `Invalid response received from ${provider}: ${text === "" ? "(empty)" : text}`;
}

const WAIT =
  /\b(?:try again in|retry after|retry in)\s+((?:\d{1,9}(?:\.\d{1,12})?\s?(?:ms|milliseconds?|seconds?|minutes?|hours?|s|m|h)\s?){1,4})/i;
const PART = /(\d{1,9}(?:\.\d{1,12})?)\s?(ms|milli|s|m|h)/gi;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, milli: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A wait named in an error text ("Please try again in 1.574s", "retry after 20 seconds"), in ms; undefined when none is. */
export function retryAfterOfText(text: string): number | undefined {
  const wait = WAIT.exec(cut(text, LONGEST))?.[1];
  if (wait === undefined) return undefined;
  let ms = 0;
  for (const [, amount, unit] of wait.matchAll(PART)) ms += Number(amount) * (UNIT_MS[(unit ?? "").toLowerCase()] ?? 0);
  return Math.ceil(ms);
}
