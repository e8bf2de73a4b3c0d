import { deeperThan, isObject, type JsonObject, MAX_JSON_DEPTH } from "@unigate/core";
import type { CheckInput, CheckVerdict } from "../define.ts";

/** Most of a webhook's `data` that is told on, characters of its JSON. */
const MAX_DATA_LENGTH = 64 * 1_024;

/** Reads `{verdict, data?, transformedData?}`. Throws when it is anything else: the webhook's word is then not known. */
export function readAnswer(phase: CheckInput["phase"], body: Buffer): CheckVerdict {
  const answer = parse(body);
  if (!isObject(answer)) throw new Error("the webhook's answer is no JSON object");
  if (deeperThan(answer, MAX_JSON_DEPTH)) throw new Error(`the webhook's answer has more than ${MAX_JSON_DEPTH} levels`);
  const { verdict } = answer;
  if (typeof verdict !== "boolean") throw new Error("the webhook's answer has no verdict; expected true or false");
  const rewritten = readTransformed(phase, answer["transformedData"]);
  const data = shownData(answer["data"]);
  return rewritten === null ? { verdict, data } : { verdict, data, rewritten };
}

/** `{request: {json}}` before, `{response: {json}}` after; the other one is too late or too early to matter. */
function readTransformed(phase: CheckInput["phase"], transformed: unknown): JsonObject | null {
  if (transformed === undefined || transformed === null) return null;
  const side = phase === "before" ? "request" : "response";
  const part = isObject(transformed) ? transformed[side] : transformed;
  if (part === undefined || part === null) return null;
  const json = isObject(part) ? part["json"] : part;
  if (json === undefined || json === null) return null;
  if (!isObject(json)) throw new Error(`the webhook's transformedData.${side}.json is no JSON object`);
  return json;
}

function shownData(data: unknown): unknown {
  if (data === undefined) return null;
  return JSON.stringify(data).length <= MAX_DATA_LENGTH ? data : { explanation: "The webhook's data is too long to be shown." };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return null;
  }
}
