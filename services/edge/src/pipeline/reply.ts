import { boundedJsonOf, bufferOfJson, errorBody, isObject, type JsonObject } from "@unigate/core";
import type { GatewayReply, ReplyHeaders } from "../gateway-request.ts";
import { answerHeaders } from "./answer-headers.ts";
import { asStream } from "./as-stream.ts";
import { DECISION, decisionText, isTrailer } from "./decision-header.ts";
import { finishRun } from "./finish.ts";
import { answeredStatus, type Run } from "./run-state.ts";
import { storeAnswer } from "./steps/look-up.ts";
import { streamReply } from "./stream-reply.ts";
import type { TargetOutcome } from "./target-outcome.ts";

const JSON_TYPE = ["content-type", "application/json"];
const SSE_TYPE = ["content-type", "text/event-stream; charset=utf-8", "cache-control", "no-cache"];

/** The answer to the client. `done` is called once, after settlement and log record. */
export function replyOf(run: Run, outcome: TargetOutcome, done: () => void): GatewayReply {
  const headers = answerHeaders(run, outcome);
  const trailer = tellDecision(run, headers);
  const { result } = outcome;
  if (result.stream !== null) {
    if (run.request.surface !== "proxy") headers.push(...SSE_TYPE);
    const chunks = streamReply(run, outcome, result.stream, done);
    return { kind: "stream", status: answeredStatus(run, result.status), headers, trailer, chunks };
  }
  if (outcome.cache.hit !== null && result.failure === null && outcome.shaped.stream)
    return replayedStream(run, outcome, headers, trailer, done);
  if (run.request.surface !== "proxy" || result.body === null || result.failure !== null) headers.push(...JSON_TYPE);
  const body = withHookResults(run, bodyOf(outcome));
  if (result.status === 200 && result.body !== null && run.hooks.before.length + run.hooks.after.length === 0) {
    storeAnswer(run, outcome.cache, {
      body: result.body,
      headers: [],
      storedAt: run.deps.clock.now(),
      usage: result.usage ?? undefined,
      surface: run.request.surface,
    });
  }
  finishRun(run, outcome, { body, end: null, cancelled: run.call.cancel.reason === "client_gone" });
  done();
  return { kind: "unary", status: answeredStatus(run, result.status), headers, trailer, body };
}

/** Adds the decision to the headers, where it is asked for; one that is too long for a header is given back. */
function tellDecision(run: Run, headers: ReplyHeaders): GatewayReply["trailer"] {
  const text = decisionText(run);
  if (text === null) return null;
  if (isTrailer(text)) return [DECISION, text];
  headers.push(DECISION, text);
  return null;
}

/** The upstream's bytes, or the envelope of an error that the gateway made. */
function bodyOf(outcome: TargetOutcome): Buffer {
  const { body, failure } = outcome.result;
  if (body !== null && (body.length > 0 || failure === null)) return body;
  if (failure === null) return Buffer.alloc(0);
  const envelope: JsonObject = errorBody({
    message: failure.message,
    type: failure.type,
    param: failure.param === "" ? null : failure.param,
    code: failure.code,
  });
  if (outcome.target !== null) envelope["provider"] = outcome.target.provider.id;
  return bufferOfJson(envelope);
}

/** Results of synchronous hooks stand in the JSON answer (behaviour 7.1). */
function withHookResults(run: Run, body: Buffer): Buffer {
  const { before, after } = run.hooks;
  if (before.length + after.length === 0) return body;
  let json: unknown;
  try {
    json = boundedJsonOf(body);
  } catch {
    return body;
  }
  return isObject(json) ? bufferOfJson({ ...json, hook_results: { before_request_hooks: before, after_request_hooks: after } }) : body;
}

/** A stored answer for a client that wants a stream (behaviour section 6). */
function replayedStream(
  run: Run,
  outcome: TargetOutcome,
  headers: ReplyHeaders,
  trailer: GatewayReply["trailer"],
  done: () => void,
): GatewayReply {
  headers.push(...SSE_TYPE);
  const body = bodyOf(outcome);
  async function* chunks() {
    yield asStream(outcome, body);
    finishRun(run, outcome, { body, end: null, cancelled: false });
    done();
  }
  return { kind: "stream", status: answeredStatus(run, outcome.result.status), headers, trailer, chunks: chunks() };
}
