import { isConnectionHeader, isObject, Secret } from "@unigate/core";
import { CheckParameterError } from "../define.ts";

const MAX_HEADERS = 50;
const MAX_VALUE_LENGTH = 8_192;
const NAME = /^[\w!#$%&'*+.^`|~-]{1,200}$/;
/** Printable Latin-1 and tab: no line break can smuggle a header in. */
const VALUE = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/**
 * Headers by lower-case name, from an object, its JSON as text, or a Secret of that JSON. What is wrong is told by the
 * header's name: values may be credentials.
 */
export function readHeaders(value: unknown): ReadonlyMap<string, Secret> {
  const given = objectOf(value);
  if (given === null) throw new CheckParameterError("headers", "an object of header names and texts, or its JSON as text");
  const entries = Object.entries(given);
  if (entries.length > MAX_HEADERS) throw new CheckParameterError("headers", `at most ${MAX_HEADERS} headers`);
  const headers = new Map<string, Secret>();
  for (const [name, text] of entries) {
    const place = `headers.${name.slice(0, 100)}`;
    if (!NAME.test(name)) throw new CheckParameterError(place, "a header name");
    if (isConnectionHeader(name.toLowerCase())) throw new CheckParameterError(place, "no header of the connection: the gateway sets it");
    if (typeof text !== "string" || text.length > MAX_VALUE_LENGTH || !VALUE.test(text))
      throw new CheckParameterError(place, `a text of at most ${MAX_VALUE_LENGTH} characters that a header can carry`);
    headers.set(name.toLowerCase(), new Secret(text));
  }
  return headers;
}

function objectOf(value: unknown): Record<string, unknown> | null {
  if (value === undefined || value === null || value === "") return {};
  const text = value instanceof Secret ? value.reveal() : value;
  if (isObject(text)) return text;
  if (typeof text !== "string") return null;
  try {
    const json: unknown = JSON.parse(text);
    if (isObject(json)) return json;
    // A Secret holds the JSON of what was given, which may itself be JSON as text.
    return value instanceof Secret && typeof json === "string" ? objectOf(json) : null;
  } catch {
    return null;
  }
}
