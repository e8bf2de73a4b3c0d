import { GatewayError, isObject, type JsonObject } from "@unigate/core";

/** A parameter outside what the spec allows: 400 with `param` set (DESIGN 8.6). */
export function refuse(param: string, expected: string): never {
  throw new GatewayError("invalid_request", `${param}: expected ${expected}.`, { param });
}

/** Absent, null, or a number in [min, max]. */
export function checkNumber(json: JsonObject, param: string, min: number, max: number): void {
  const value = json[param];
  if (value == null) return;
  if (typeof value !== "number" || !(value >= min && value <= max)) refuse(param, `a number from ${min} to ${max}`);
}

/** Absent, null, or a whole number in [min, max]. */
export function checkInteger(json: JsonObject, param: string, min: number, max: number): void {
  const value = json[param];
  if (value == null) return;
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) refuse(param, wholeNumber(min, max));
}

function wholeNumber(min: number, max: number): string {
  return max >= Number.MAX_SAFE_INTEGER ? `a whole number of at least ${min}` : `a whole number from ${min} to ${max}`;
}

/** Absent, null, or true or false. */
export function checkBoolean(json: JsonObject, param: string): void {
  const value = json[param];
  if (value != null && typeof value !== "boolean") refuse(param, "true or false");
}

/** Absent, null, or an object. */
export function checkObject(json: JsonObject, param: string): void {
  const value = json[param];
  if (value != null && !isObject(value)) refuse(param, "an object");
}

/** Absent, null, or a list of objects with at most `max` items. */
export function checkObjects(json: JsonObject, param: string, min: number, max: number): void {
  const value = json[param];
  if (value == null) return;
  if (!Array.isArray(value) || value.length < min || value.length > max) refuse(param, `a list of ${min} to ${max} objects`);
  for (let index = 0; index < value.length; index++) if (!isObject(value[index])) refuse(`${param}[${index}]`, "an object");
}

/** Absent, null, a string, or up to four strings. */
export function checkStop(json: JsonObject): void {
  const value = json["stop"];
  if (value == null || typeof value === "string") return;
  if (!Array.isArray(value) || value.length > 4 || !value.every((item) => typeof item === "string"))
    refuse("stop", "a string or up to 4 strings");
}

/** Token ids to a bias from -100 to 100. */
export function checkLogitBias(json: JsonObject): void {
  const value = json["logit_bias"];
  if (value == null) return;
  if (!isObject(value)) refuse("logit_bias", "an object of token ids to numbers");
  for (const token in value) {
    const bias = value[token];
    if (typeof bias !== "number" || !(bias >= -100 && bias <= 100)) refuse(`logit_bias.${token.slice(0, 20)}`, "a number from -100 to 100");
  }
}

/** `stream_options` is only allowed with a stream. */
export function checkStreamOptions(json: JsonObject): void {
  checkBoolean(json, "stream");
  checkObject(json, "stream_options");
  if (json["stream_options"] != null && json["stream"] !== true) refuse("stream_options", "stream to be true when it is given");
}
