import { type Call, type CancelReason, CancelToken } from "@unigate/core";
import { cancelledError, RpcError } from "./errors.ts";
import { failureOf, type OnFault } from "./failure.ts";
import type { Handler, Method } from "./method.ts";
import { askNext, letGo, NO_FEED, PulledStream } from "./pulled-stream.ts";
import { refusal } from "./refusal.ts";

/** A method and what answers it. */
export interface LocalMethod {
  readonly method: Method;
  readonly handler: Handler;
  readonly onFault: OnFault | undefined;
}

/**
 * The answers of a handler in the same process. It gets a cancel token of its own, since a consumer that breaks off
 * gives up this call and not all that hangs on the caller's token.
 */
export function answerStream({ method, handler, onFault }: LocalMethod, request: unknown, outer: Call): PulledStream<unknown> {
  return new PulledStream((answers) => {
    const refused = refusal(outer);
    if (refused !== null) {
      answers.fail(refused);
      return NO_FEED;
    }
    const inner = innerCall(outer, (reason) => {
      answers.fail(cancelledError(reason));
      giveUp(reason);
    });
    const requests = method.requestStream
      ? new CallerStream(request as AsyncIterable<unknown>, (error) => {
          answers.fail(error);
          giveUp("peer");
        })
      : null;
    let iterator: AsyncIterator<unknown> | null = null;
    let over = false;

    function finish(): void {
      over = true;
      inner.unlink();
      requests?.close(CALL_OVER);
    }

    function giveUp(reason: CancelReason): void {
      if (over) return;
      over = true;
      inner.unlink();
      requests?.close(cancelledError(reason));
      inner.call.cancel.cancel(reason);
      if (iterator !== null) letGo(iterator);
    }

    function fail(reason: unknown): void {
      if (over) return;
      finish();
      answers.fail(failureOf(reason, method.label, onFault));
    }

    try {
      iterator = (handler(requests?.messages ?? request, inner.call) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    } catch (error) {
      fail(error);
      return NO_FEED;
    }
    const source = iterator;
    return {
      pull() {
        askNext(source).then((result) => {
          if (over) return;
          if (result.done !== true) return answers.deliver(result.value);
          finish();
          answers.finish();
        }, fail);
      },
      stop: () => giveUp("peer"),
    };
  });
}

/** The one answer to a caller's stream of requests, in the same process. */
export function answerOnce(local: LocalMethod, requests: AsyncIterable<unknown>, outer: Call): Promise<unknown> {
  const refused = refusal(outer);
  if (refused !== null) return Promise.reject(refused);
  return new Promise((resolve, reject) => {
    let over = false;
    const inner = innerCall(outer, (reason) => giveUp(reason, cancelledError(reason)));
    const incoming = new CallerStream(requests, (error) => giveUp("peer", error));

    function finish(reason: RpcError): boolean {
      if (over) return false;
      over = true;
      inner.unlink();
      incoming.close(reason);
      return true;
    }

    function giveUp(reason: CancelReason, error: unknown): void {
      if (!finish(cancelledError(reason))) return;
      reject(error);
      inner.call.cancel.cancel(reason);
    }

    function fail(reason: unknown): void {
      if (finish(CALL_OVER)) reject(failureOf(reason, local.method.label, local.onFault));
    }

    try {
      (local.handler(incoming.messages, inner.call) as Promise<unknown>).then((message) => {
        if (finish(CALL_OVER)) resolve(message);
      }, fail);
    } catch (error) {
      fail(error);
    }
  });
}

/** What a handler sees that reads on after it has answered. */
const CALL_OVER = new RpcError("CANCELLED", "The call is over.");

function innerCall(outer: Call, onCancel: (reason: CancelReason) => void): { call: Call; unlink(): void } {
  const call = { traceId: outer.traceId, traceparent: outer.traceparent, deadline: outer.deadline, cancel: new CancelToken() };
  return { call, unlink: outer.cancel.onCancel(onCancel) };
}

/** A caller's requests as its handler sees them: they end with the call, and what the caller throws stays the caller's. */
class CallerStream {
  /** What the handler iterates. */
  readonly messages: PulledStream<unknown>;
  readonly #source: AsyncIterable<unknown>;
  #iterator: AsyncIterator<unknown> | null = null;
  #done = false;

  constructor(source: AsyncIterable<unknown>, onFailure: (error: unknown) => void) {
    this.#source = source;
    this.messages = new PulledStream(() => {
      const iterator = source[Symbol.asyncIterator]();
      this.#iterator = iterator;
      return {
        pull: () => {
          askNext(iterator).then(
            (result) => {
              if (result.done !== true) return this.messages.deliver(result.value);
              this.#done = true;
              this.messages.finish();
            },
            (error: unknown) => {
              this.#done = true;
              onFailure(error);
            },
          );
        },
        stop: () => this.#letGo(),
      };
    });
  }

  /** The handler gets `reason` if it still reads; the caller's iterator is let go. */
  close(reason: RpcError): void {
    this.messages.fail(reason);
    this.#letGo();
  }

  #letGo(): void {
    if (this.#done) return;
    this.#done = true;
    letGo(this.#iterator ?? this.#source[Symbol.asyncIterator]());
  }
}
