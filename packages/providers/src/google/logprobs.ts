import { isObject, type JsonObject } from "@unigate/core";
import { listOf, objectOf, stringOf } from "../chat/json-value.ts";

/** OpenAI's `logprobs` of a candidate's `logprobsResult`; null when there is none. */
export function logprobsOf(result: unknown): JsonObject | null {
  if (!isObject(result)) return null;
  const alternatives = listOf(result["topCandidates"]);
  const content = listOf(result["chosenCandidates"])
    .filter(isObject)
    .map((chosen, index) => ({
      ...tokenOf(chosen),
      top_logprobs: listOf(objectOf(alternatives[index])["candidates"]).filter(isObject).map(tokenOf),
    }));
  return content.length === 0 ? null : { content };
}

function tokenOf(candidate: JsonObject): JsonObject {
  const token = stringOf(candidate["token"]);
  const logprob = typeof candidate["logProbability"] === "number" ? candidate["logProbability"] : 0;
  return { token, logprob, bytes: [...Buffer.from(token)] };
}
