import { bufferOfJson, type JsonObject, type Secret } from "@unigate/core";
import { type Check, CheckParameterError, type PostFailure } from "../define.ts";
import { forwarded, readForwardHeaders } from "../forward-headers.ts";
import { readAnswer } from "./answer.ts";
import { callBody } from "./call-body.ts";
import { readHeaders } from "./headers.ts";

const DEFAULT_TIMEOUT_MS = 3_000;
const LONGEST_MS = 25_000;
const MAX_URL_LENGTH = 2_048;
/** What an answer may be longer than what was sent, bytes: it may bring the whole body back, rewritten. */
const ANSWER_ROOM = 256 * 1_024;

/**
 * Asks a URL for its verdict: POST of the request and the answer, 200 with `{verdict, data?, transformedData?}` back
 * (behaviour 7.3). No redirect is followed. Any other status, a late, large or unreadable answer is an error.
 */
const webhook: Check = {
  id: "default.webhook",
  phases: ["before", "after"],
  external: { longestMs: LONGEST_MS, secretParameters: ["headers"] },
  prepare(parameters) {
    const url = readUrl(parameters["webhookURL"]);
    const timeoutMs = readTimeout(parameters["timeout"]);
    const secrets = readHeaders(parameters["headers"]);
    const names = readForwardHeaders(parameters["forwardHeaders"]);
    return async (input, outside) => {
      const body = bufferOfJson(callBody(input));
      const maxAnswerBytes = body.length + ANSWER_ROOM;
      // What the hook says of its own call holds over what the client sent.
      const headers = { ...forwarded(names, input.headers), ...revealed(secrets) };
      const reply = await outside.post({ url, headers, body, timeoutMs, maxAnswerBytes }, outside.call);
      if (reply.kind === "failed") throw new Error(failureText(reply, timeoutMs));
      if (reply.status < 200 || reply.status > 299) throw new Error(`the webhook answered with status ${reply.status}; expected 200`);
      return readAnswer(input.phase, reply.body);
    };
  },
};

export default webhook;

function revealed(secrets: ReadonlyMap<string, Secret>): Record<string, string> {
  const headers: Record<string, string> = { "content-type": "application/json", accept: "application/json" };
  for (const [name, value] of secrets) headers[name] = value.reveal();
  return headers;
}

function failureText({ code, reason }: PostFailure, timeoutMs: number): string {
  return code === "timeout" ? `the webhook did not answer within ${timeoutMs} ms` : `the webhook could not be asked: ${reason}`;
}

/** Where it leads is checked where it is sent. */
function readUrl(value: JsonObject[string]): string {
  if (typeof value !== "string" || value.length > MAX_URL_LENGTH || !/^https?:\/\//i.test(value) || !URL.canParse(value))
    throw new CheckParameterError("webhookURL", `a URL that starts with https:// or http://, of at most ${MAX_URL_LENGTH} characters`);
  return value;
}

function readTimeout(value: unknown): number {
  if (value === undefined) return DEFAULT_TIMEOUT_MS;
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > LONGEST_MS)
    throw new CheckParameterError("timeout", `a whole number of milliseconds from 1 to ${LONGEST_MS}`);
  return value as number;
}
