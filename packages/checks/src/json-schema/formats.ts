import { isIPv4, isIPv6 } from "node:net";

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const EMAIL = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i;
const HOSTNAME = /^(?=.{1,253}$)[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)*$/i;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
/** A longer text is none of what has a short form. */
const MAX_LENGTH = 1_000;

/** Formats that are checked. Any other is a remark that says nothing. */
export const FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["date", isDate],
  ["time", (text) => text.length <= MAX_LENGTH && TIME.test(text)],
  ["date-time", isDateTime],
  ["email", (text) => text.length <= MAX_LENGTH && EMAIL.test(text)],
  ["hostname", (text) => text.length <= MAX_LENGTH && HOSTNAME.test(text)],
  ["ipv4", (text) => isIPv4(text)],
  ["ipv6", (text) => isIPv6(text) && !text.includes("%")],
  ["uri", (text) => /^[a-z][a-z\d+.-]*:/i.test(text) && !/\s/.test(text) && URL.canParse(text)],
  ["uuid", (text) => UUID.test(text)],
]);

function isDate(text: string): boolean {
  const [, year = "", month = "", day = ""] = DATE.exec(text) ?? [];
  if (year === "") return false;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

function isDateTime(text: string): boolean {
  return text.length <= MAX_LENGTH && /^.{10}[t ]/i.test(text) && isDate(text.slice(0, 10)) && TIME.test(text.slice(11));
}
