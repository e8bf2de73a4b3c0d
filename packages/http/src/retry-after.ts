/** Longest wait that is believed, ms: a day. A longer one is cut to this. */
const MAX_WAIT_MS = 86_400_000;

const NUMBER = /^\d{1,15}(\.\d{1,9})?$/;
/** The date of RFC 9110, and its two obsolete forms that readers must still take. */
const IMF_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const RFC850_DATE = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * The wait an answer asks for in its headers, whole ms, at most a day (behaviour section 3): the first usable one of
 * `retry-after-ms`, `x-ms-retry-after-ms`, `retry-after` (seconds, decimals too, or an HTTP date). A negative value,
 * a date that has passed and garbage count as absent. Null when none is usable. Header names are lower case.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | null {
  return (
    waitOf(headers["retry-after-ms"], 1) ??
    waitOf(headers["x-ms-retry-after-ms"], 1) ??
    waitOf(headers["retry-after"], 1000) ??
    waitUntil(headers["retry-after"], now)
  );
}

function waitOf(text: string | undefined, unitMs: number): number | null {
  const trimmed = text?.trim();
  if (trimmed === undefined || !NUMBER.test(trimmed)) return null;
  return Math.min(Math.ceil(Number(trimmed) * unitMs), MAX_WAIT_MS);
}

function waitUntil(text: string | undefined, now: number): number | null {
  const at = timeOf(text?.trim() ?? "");
  return at >= now ? Math.min(at - now, MAX_WAIT_MS) : null;
}

/** Unix ms of an HTTP date; NaN when it is none. */
function timeOf(text: string): number {
  if (IMF_DATE.test(text) || RFC850_DATE.test(text)) return Date.parse(text);
  return ASCTIME_DATE.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}
