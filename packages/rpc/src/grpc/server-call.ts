import type { Metadata, ServerInterceptingCallInterface } from "@grpc/grpc-js";
import { type Call, type CancelReason, CancelToken } from "@unigate/core";
import { cancelledError, isRpcError, RpcError } from "../errors.ts";
import { failureOf, type OnFault } from "../failure.ts";
import type { Authenticate, Peer } from "../mesh-token.ts";
import { decodeMessage, encodeMessage } from "../message-size.ts";
import type { Handler, Method } from "../method.ts";
import { askNext, letGo, PulledStream } from "../pulled-stream.ts";
import { type OnRefused, refusedCall } from "../refused.ts";
import { traceIdOf } from "../traceparent.ts";
import { AnswerFlow } from "./answer-flow.ts";
import { END_MARK, isEndMark, USER_AGENT } from "./end-mark.ts";
import { peerOf } from "./peer.ts";
import type { RunningCalls } from "./running-calls.ts";
import { OK, statusOf } from "./status.ts";

/** What all calls of a server share, or of one connection where callers show certificates. */
export interface ServerHost {
  readonly authenticate: Authenticate | undefined;
  readonly onRefused: OnRefused | undefined;
  /** The services that the peer's certificate is for; null when the server asks for none. */
  readonly peerServices: readonly string[] | null;
  readonly onFault: OnFault | undefined;
  readonly maxBytes: number;
  readonly running: RunningCalls;
}

/** A method and what answers it; null when the implementation lacks it. */
export interface ServedMethod {
  readonly method: Method;
  readonly handler: Handler | null;
}

/** What a call is answered through: a gRPC call of its own, or its place in a shared stream. */
export type AnswerTransport = Pick<ServerInterceptingCallInterface, "getPeer" | "getDeadline" | "startRead" | "sendMessage" | "sendStatus">;

/** A client's timer and this one start apart by the way between them; a call cut this shortly before its end ran out of time. */
const DEADLINE_SLACK_MS = 100;

/**
 * One call on the server, of any kind: grpc-js tells it what arrives, it asks for each message once the handler wants
 * one, and nothing is read from a caller that was not let in.
 */
export class ServerCall {
  readonly #host: ServerHost;
  readonly #served: ServedMethod;
  readonly #transport: AnswerTransport;
  readonly #cancel = new CancelToken();
  readonly #flow = new AnswerFlow();
  #call: Call | null = null;
  #requests: PulledStream<unknown> | null = null;
  #answers: AsyncIterator<unknown> | null = null;
  /** Whether the caller marks the end of its requests. */
  #marks = false;
  #begun = false;
  #requestsEnded = false;
  /** The handler has come to its end, or is not listened to any more. */
  #over = false;
  /** All was answered while the caller still sent; its end is waited for. */
  #waiting = false;

  constructor(host: ServerHost, served: ServedMethod, transport: AnswerTransport) {
    this.#host = host;
    this.#served = served;
    this.#transport = transport;
  }

  onReceiveMetadata(metadata: Metadata): void {
    const peer = peerOf(metadata, this.#transport, this.#host.peerServices);
    this.#marks = this.#served.method.requestStream && (peer.header("user-agent")?.startsWith(USER_AGENT) ?? false);
    this.begin(peer, peer.header("traceparent") ?? "");
  }

  /** Asks for the first message of a peer that may call the method; refuses any other. */
  begin(peer: Peer, traceparent: string): void {
    const { method } = this.#served;
    const refused = this.#host.authenticate?.(peer, method.path) ?? null;
    if (refused !== null) {
      this.#host.onRefused?.(refusedCall(peer, refused));
      return this.#fail(refused);
    }
    this.#call = { traceId: traceIdOf(traceparent), traceparent, deadline: Number(this.#transport.getDeadline()), cancel: this.#cancel };
    if (!method.requestStream) return this.#transport.startRead();
    const requests = new PulledStream<unknown>(() => ({ pull: () => this.#transport.startRead(), stop() {} }));
    this.#requests = requests;
    this.#run(requests, this.#call);
  }

  onReceiveMessage(bytes: Buffer): void {
    if (this.#waiting) return this.#transport.startRead();
    if (this.#over || this.#call === null) return;
    const { method } = this.#served;
    if (this.#marks && isEndMark(bytes)) {
      this.#requestsEnded = true;
      this.#requests?.finish();
      return this.#transport.startRead();
    }
    let message: unknown;
    try {
      message = decodeMessage(method, method.request, bytes);
    } catch (error) {
      return this.#abandon("peer", error);
    }
    if (this.#requests !== null) return this.#requests.deliver(message);
    if (this.#begun) return this.#abandon("peer", new RpcError("INVALID_ARGUMENT", `${method.label} takes one request, not more.`));
    this.#run(message, this.#call);
    // The rest of the request is its end, which must be read for the HTTP/2 stream to close.
    this.#transport.startRead();
  }

  onReceiveHalfClose(): void {
    if (this.#waiting) return this.#transport.sendStatus(SUCCESS);
    if (this.#over) return;
    if (this.#requests === null) {
      if (!this.#begun) this.#fail(new RpcError("INVALID_ARGUMENT", `${this.#served.method.label}: there was no request.`));
      return;
    }
    if (!this.#marks) {
      this.#requestsEnded = true;
      this.#requests.finish();
    } else if (!this.#requestsEnded) {
      this.#abandon(this.#goneReason(), CUT);
    }
  }

  /** The caller went away, the deadline passed, or, after a normal end, all has been sent. */
  onCancel(): void {
    this.#host.running.delete(this);
    this.#abandon(this.#goneReason(), null);
  }

  /** Tells the handler that the process is about to end. It may still answer. */
  announceShutdown(): void {
    this.#cancel.cancel("shutdown");
  }

  /** Ends the call whatever its handler does. */
  shutDown(): void {
    this.#abandon("shutdown", SHUTTING_DOWN);
  }

  #run(request: unknown, call: Call): void {
    const { method, handler } = this.#served;
    if (handler === null) return this.#fail(new RpcError("UNIMPLEMENTED", `${method.label} is not implemented.`));
    this.#begun = true;
    this.#host.running.add(this);
    try {
      const answer = handler(request, call);
      if (method.responseStream) void this.#sendAll(answer as AsyncIterable<unknown>);
      else this.#sendOne(answer as Promise<unknown>);
    } catch (error) {
      this.#handlerFailed(error);
    }
  }

  #sendOne(answer: Promise<unknown>): void {
    answer.then(
      (message) => {
        if (this.#over) return;
        let bytes: Buffer;
        try {
          bytes = this.#encode(message);
        } catch (error) {
          return this.#handlerFailed(error);
        }
        this.#end();
        this.#transport.sendMessage(bytes, nothing);
        this.#succeed();
      },
      (error: unknown) => this.#handlerFailed(error),
    );
  }

  async #sendAll(answers: AsyncIterable<unknown>): Promise<void> {
    try {
      const iterator = answers[Symbol.asyncIterator]();
      this.#answers = iterator;
      for (;;) {
        const result = await askNext(iterator);
        if (this.#over) return;
        if (result.done === true) break;
        const bytes = this.#encode(result.value);
        this.#transport.sendMessage(bytes, this.#flow.writing(bytes.length));
        const room = this.#flow.room();
        if (room !== null) await room;
        if (this.#over) return;
      }
      this.#end();
      if (this.#marks && !this.#requestsEnded) this.#transport.sendMessage(END_MARK, nothing);
      this.#succeed();
    } catch (error) {
      this.#handlerFailed(error);
    }
  }

  #succeed(): void {
    this.#waiting = this.#marks && !this.#requestsEnded;
    if (this.#waiting) this.#transport.startRead();
    else this.#transport.sendStatus(SUCCESS);
  }

  #goneReason(): CancelReason {
    return this.#call !== null && Date.now() >= this.#call.deadline - DEADLINE_SLACK_MS ? "deadline" : "peer";
  }

  #encode(message: unknown): Buffer {
    const { method } = this.#served;
    return encodeMessage(method, method.response, message, this.#host.maxBytes);
  }

  #handlerFailed(reason: unknown): void {
    if (this.#over) return;
    // A handler that gives up since the process ends may say so in any way; its caller did not cancel anything.
    const gaveUp = this.#cancel.reason === "shutdown" && (!isRpcError(reason) || reason.code === "CANCELLED");
    this.#fail(gaveUp ? SHUTTING_DOWN : failureOf(reason, this.#served.method.label, this.#host.onFault));
    if (this.#answers !== null) letGo(this.#answers);
  }

  /** The handler is told and let go; the caller gets `answer` unless it is gone. */
  #abandon(reason: CancelReason, answer: unknown): void {
    if (this.#over) return;
    if (answer === null) this.#end(cancelledError(reason));
    else this.#fail(failureOf(answer, this.#served.method.label, this.#host.onFault), cancelledError(reason));
    this.#cancel.cancel(reason);
    if (this.#answers !== null) letGo(this.#answers);
  }

  #fail(error: RpcError, forHandler: RpcError = CALL_OVER): void {
    if (this.#over) return;
    this.#end(forHandler);
    this.#transport.sendStatus(statusOf(error));
  }

  #end(forHandler: RpcError = CALL_OVER): void {
    this.#over = true;
    this.#requests?.fail(forHandler);
    this.#flow.close();
  }
}

/** What a handler sees that reads on after it has answered. */
const CALL_OVER = new RpcError("CANCELLED", "The call is over.");

const CUT = new RpcError("CANCELLED", "The stream of requests was cut off.");

const SHUTTING_DOWN = new RpcError("UNAVAILABLE", "The server is shutting down.");

const SUCCESS = { code: OK, details: "OK" };

function nothing(): void {}
