import { GatewayError } from "@unigate/core";

const NAME = /^[\w.@-]{1,200}(?:\/[\w.@-]{1,200}){0,7}$/;
const VERSION = /gemini-(\d{1,2})(?:\.(\d{1,2}))?/;

/**
 * The path of a model: `gemini-2.5-flash` -> `models/gemini-2.5-flash`; a name with a collection (`tunedModels/x`)
 * stays. Throws `invalid_request` for a name that would lead elsewhere.
 */
export function modelPath(model: string): string {
  if (!NAME.test(model) || model.split("/").some((segment) => /^\.+$/.test(segment))) {
    throw new GatewayError("invalid_request", "The model is no Gemini model name; send one such as gemini-2.5-flash.", { param: "model" });
  }
  return model.includes("/") ? model : `models/${model}`;
}

/** The version in a Gemini model's name as a comparable number (2.5 = 205), or null. */
export function versionOf(model: string): number | null {
  const found = VERSION.exec(model.slice(0, 400));
  if (found !== null) return Number(found[1]) * 100 + Number(found[2] ?? 0);
  return model.endsWith("-latest") ? 300 : null;
}

/** From version 3 on thinking has levels, thoughts must come back signed, and tool results may hold media. */
export function isThirdGeneration(model: string): boolean {
  return (versionOf(model) ?? 0) >= 300;
}
