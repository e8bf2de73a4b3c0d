import { isObject, type JsonObject } from "@unigate/core";
import { objectOf, stringOf } from "../chat/json-value.ts";

/**
 * Thought signatures travel as Google's own OpenAI surface sends them: `extra_content.google.thought_signature` on the
 * tool call. OpenAI's SDKs keep fields they do not know when an answer's message is sent back. Ids could carry them too,
 * but a signature has thousands of characters and other providers refuse long ids, so a conversation could not change
 * its provider. It is state of the protocol, not information, and therefore sent in strict mode as well.
 */
export function extraContent(signature: string): JsonObject {
  return { google: { thought_signature: signature } };
}

/** The signature on a message or tool call of the client; "" when there is none. */
export function signatureOn(item: JsonObject): string {
  const google = objectOf(objectOf(item["extra_content"])["google"]);
  return stringOf(google["thought_signature"]);
}

/**
 * What Google documents to stand for a signature that is lost, or never was: of a call that another provider made.
 * Without any the third generation refuses the request.
 */
const NO_SIGNATURE = "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv";

/** Signs the first call of a model's turn when nothing did; only that one is checked. */
export function signFirstCall(parts: JsonObject[]): void {
  const first = parts.find((part) => isObject(part["functionCall"]));
  if (first !== undefined && first["thoughtSignature"] === undefined) first["thoughtSignature"] = NO_SIGNATURE;
}
