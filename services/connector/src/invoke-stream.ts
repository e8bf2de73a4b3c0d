import type { InvokeRequest, ReplyPart } from "@unigate/contracts";
import type { Call } from "@unigate/core";
import type { ConnectorDeps } from "./deps.ts";
import { errorOutcome, isRedirect, redirectOutcome } from "./invoke.ts";
import { failedParts } from "./parts.ts";
import { passBytes } from "./pass-bytes.ts";
import { passError } from "./pass-error.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { readStream } from "./read-stream.ts";
import { failureOutcome, isFailed, refusalOutcome, sendPrepared } from "./send.ts";

/** A streamed exchange, or a proxied one: head, chunks, end. Every outcome of the upstream is a value. */
export async function* invokeStream(
  deps: ConnectorDeps,
  request: InvokeRequest,
  call: Call,
  upload: AsyncIterable<Buffer> | null = null,
): AsyncGenerator<ReplyPart> {
  const provider = request.target?.provider ?? "";
  let prepared: Prepared;
  try {
    prepared = await prepare(deps, request, upload !== null);
  } catch (error) {
    yield* failedParts(refusalOutcome(error, provider));
    return;
  }
  const answer = await sendPrepared(deps, request, prepared, upload ?? prepared.request.body, call);
  if (isFailed(answer)) {
    yield* failedParts(answer);
  } else if (prepared.surface === null && answer.status < 400) {
    yield* passBytes(answer);
  } else if (prepared.surface !== null && answer.status >= 200 && answer.status <= 299) {
    yield* readStream(request, prepared, prepared.surface, answer, call);
  } else if (prepared.surface !== null && isRedirect(answer)) {
    answer.cancel();
    yield* failedParts(redirectOutcome(prepared, answer));
  } else {
    const body = await answer.readAll(deps.maxAnswerBytes);
    if (!Buffer.isBuffer(body)) yield* failedParts(failureOutcome(body, request, provider, call));
    else if (prepared.surface === null) yield* passError(answer, body, prepared.mask());
    else yield* failedParts(errorOutcome(prepared, answer, body, deps.clock.now()));
  }
}
