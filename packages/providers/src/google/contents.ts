import { isObject, type JsonObject } from "@unigate/core";
import { listOf, objectIn, objectOf, stringOf } from "../chat/json-value.ts";
import { partsOf, textOf } from "../chat/message-parts.ts";
import { mediaPart } from "./media.ts";
import { isThirdGeneration } from "./model-name.ts";
import { signatureOn, signFirstCall } from "./signature.ts";

interface Content {
  readonly role: "user" | "model";
  parts: JsonObject[];
}

export interface Contents {
  /** Text parts of all system and developer messages, in order. */
  readonly system: JsonObject[];
  /** Begins with the user; the roles alternate. */
  readonly contents: Content[];
}

/** What the user says where the API demands a user turn and the client sent none. */
const PLACEHOLDER = "Continue.";

/**
 * OpenAI messages as a system instruction and alternating contents: neighbours of one role become one content, with
 * function responses first. A message without any content is left out.
 */
export function contentsOf(messages: unknown, model: string): Contents {
  const third = isThirdGeneration(model);
  const system: JsonObject[] = [];
  const contents: Content[] = [];
  /** Names of the functions called so far, by call id. */
  const names = new Map<string, string>();
  for (const message of listOf(messages)) {
    if (!isObject(message)) continue;
    switch (message["role"]) {
      case "system":
      case "developer":
        if (textOf(message["content"]) !== "") system.push({ text: textOf(message["content"]) });
        break;
      case "assistant":
        append(contents, "model", modelParts(message, names));
        break;
      case "tool":
      case "function":
        append(contents, "user", responseParts(message, names, third));
        break;
      default:
        append(contents, "user", plainParts(message["content"]));
    }
  }
  if (contents[0]?.role !== "user") contents.unshift({ role: "user", parts: [{ text: PLACEHOLDER }] });
  for (const content of contents) {
    if (content.role === "user") content.parts = responsesFirst(content.parts);
    else if (third) signFirstCall(content.parts);
  }
  return { system, contents };
}

function append(contents: Content[], role: Content["role"], parts: JsonObject[]): void {
  if (parts.length === 0) return;
  const last = contents.at(-1);
  if (last?.role === role) last.parts.push(...parts);
  else contents.push({ role, parts });
}

/** Parts that are none of OpenAI's are Google's own (`{fileData}`, `{inlineData}`) and pass unchanged. */
function plainParts(content: unknown): JsonObject[] {
  const parts: JsonObject[] = [];
  for (const part of partsOf(content)) {
    if (part.kind === "other") parts.push(part.raw);
    else if (part.kind === "media") parts.push(mediaPart(part));
    else if (part.text !== "") parts.push({ text: part.text });
  }
  return parts;
}

function modelParts(message: JsonObject, names: Map<string, string>): JsonObject[] {
  const said = plainParts(message["content"]);
  const calls = listOf(message["tool_calls"])
    .filter(isObject)
    .map((call) => callPart(call, names));
  if (calls.length === 0 && isObject(message["function_call"])) calls.push(callPart({ function: message["function_call"] }, names));
  // A signature on the message is that of its text, or, as older versions of Google's surface sent it, of its first call.
  const signed = signatureOn(message);
  const holder = calls[0] !== undefined && calls[0]["thoughtSignature"] === undefined ? calls[0] : said.at(-1);
  if (signed !== "" && holder !== undefined) holder["thoughtSignature"] = signed;
  return [...said, ...calls];
}

function callPart(call: JsonObject, names: Map<string, string>): JsonObject {
  const called = objectOf(call["function"]);
  const name = stringOf(called["name"]);
  const id = stringOf(call["id"]);
  const functionCall: JsonObject = { name, args: argumentsOf(called["arguments"]) };
  if (id !== "") {
    functionCall["id"] = id;
    names.set(id, name);
  }
  const signature = signatureOn(call);
  return signature === "" ? { functionCall } : { functionCall, thoughtSignature: signature };
}

/** The arguments text as an object; what is no JSON object is passed under `arguments`, so that the model still sees it. */
function argumentsOf(value: unknown): JsonObject {
  if (isObject(value)) return value;
  const text = stringOf(value);
  return text.trim() === "" ? {} : (objectIn(text) ?? { arguments: text });
}

/** A function response, named by the call it answers. Media go inside it from the third generation on, else behind it. */
function responseParts(message: JsonObject, names: Map<string, string>, mediaInside: boolean): JsonObject[] {
  const id = stringOf(message["tool_call_id"]);
  const response = responseOf(textOf(message["content"]));
  const functionResponse: JsonObject = { name: names.get(id) || stringOf(message["name"]) || id, response };
  if (id !== "") functionResponse["id"] = id;
  const media = plainParts(message["content"]).filter((part) => part["text"] === undefined);
  if (media.length === 0) return [{ functionResponse }];
  if (!mediaInside) return [{ functionResponse }, ...media];
  functionResponse["parts"] = media;
  return [{ functionResponse }];
}

/** The response must be an object: a JSON object as it is, anything else under `result`. */
function responseOf(text: string): JsonObject {
  return objectIn(text) ?? { result: text };
}

function responsesFirst(parts: JsonObject[]): JsonObject[] {
  const responses = parts.filter((part) => isObject(part["functionResponse"]));
  if (responses.length === 0) return parts;
  return [...responses, ...parts.filter((part) => !isObject(part["functionResponse"]))];
}
