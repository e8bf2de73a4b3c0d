import type { Metadata, ServerInterceptingCallInterface } from "@grpc/grpc-js";
import { RpcError } from "../errors.ts";
import { peerOf } from "../grpc/peer.ts";
import { type AnswerTransport, type ServedMethod, ServerCall } from "../grpc/server-call.ts";
import { OK, statusOf, UNIMPLEMENTED } from "../grpc/status.ts";
import type { Peer } from "../mesh-token.ts";
import { refusedCall } from "../refused.ts";
import { AnswerWriter } from "./answer-writer.ts";
import { type CallBatch, decodeCallBatch, type SharedCall } from "./call-batch.ts";
import { DeadlineSweep } from "./deadline-sweep.ts";
import { MAX_METHODS, MAX_OWED_BYTES, MAX_OWED_CALLS } from "./limits.ts";
import type { ServedStreams } from "./served-streams.ts";

/** How long a drain waits for a client that does not end its half, ms. Its calls are waited for as all others. */
const DRAIN_REPLY_MS = 1_000;

/** A call whose answer was not sent yet. */
interface OwedCall {
  readonly id: number;
  readonly deadline: number;
  readonly call: ServerCall;
}

/** A shared stream on the server: each of its calls goes the way of a plain one, from authentication to the answer. */
export class ServedStream {
  readonly #streams: ServedStreams;
  readonly #transport: ServerInterceptingCallInterface;
  readonly #headers: Metadata;
  readonly #peerServices: readonly string[] | null;
  readonly #answers: AnswerWriter;
  readonly #calls = new Map<number, OwedCall>();
  /** By the numbers that the client gave them; null = not served here. */
  readonly #methods = new Map<number, ServedMethod | null>();
  readonly #deadlines = new DeadlineSweep<OwedCall>(
    () => this.#calls.values(),
    ({ id }) => this.#forget(id),
  );
  #peer: Peer = NOBODY;
  /** What a drain waits for until the client has ended its half. */
  readonly #place = { announceShutdown() {}, shutDown() {} };
  /** No more calls are read until answers were taken. */
  #full = false;
  #clientEnded = false;
  #over = false;

  /** `headers` are sent when the stream is open. `peerServices` are of the connection, see ServerHost. */
  constructor(
    streams: ServedStreams,
    transport: ServerInterceptingCallInterface,
    headers: Metadata,
    peerServices: readonly string[] | null,
  ) {
    this.#streams = streams;
    this.#transport = transport;
    this.#headers = headers;
    this.#peerServices = peerServices;
    this.#answers = new AnswerWriter(
      (bytes, onTaken) => transport.sendMessage(bytes, onTaken),
      () => this.#endWhenAnswered(),
    );
  }

  onReceiveMetadata(metadata: Metadata): void {
    this.#peer = peerOf(metadata, this.#transport, this.#peerServices);
    if (this.#streams.draining) return this.#end(DRAINING);
    const refused = this.#streams.refusal(this.#peer);
    if (refused !== null) {
      this.#streams.host.onRefused?.(refusedCall(this.#peer, refused));
      return this.#end(refused);
    }
    this.#transport.sendMetadata(this.#headers);
    this.#streams.add(this);
    this.#transport.startRead();
  }

  onReceiveMessage(bytes: Buffer): void {
    if (this.#over) return;
    let batch: CallBatch;
    try {
      batch = decodeCallBatch(bytes);
    } catch (error) {
      return this.#end(new RpcError("INTERNAL", "A batch of calls cannot be decoded.", error));
    }
    for (const shared of batch.calls) this.#begin(shared);
    for (const id of batch.cancelled) this.#forget(id);
    this.#full = this.#owesMuch();
    if (!this.#full) this.#transport.startRead();
  }

  onReceiveHalfClose(): void {
    this.#clientEnded = true;
    this.#endWhenAnswered();
  }

  /** The client went away, or the stream has ended. */
  onCancel(): void {
    this.#close();
    for (const id of this.#calls.keys()) this.#forget(id);
  }

  /** Tells the client to go elsewhere. What it sent before it learned that is answered: its end is waited for. */
  drain(): void {
    const { running } = this.#streams.host;
    running.add(this.#place);
    setTimeout(() => running.delete(this.#place), DRAIN_REPLY_MS).unref();
    this.#answers.sayDraining();
  }

  #begin({ id, method, path, timeoutMs, traceparent, payload }: SharedCall): void {
    if (this.#over) return;
    if (path !== "" && this.#methods.size < MAX_METHODS) this.#methods.set(method, this.#streams.served(path));
    const served = this.#methods.get(method);
    if (served === undefined || this.#calls.has(id)) {
      return this.#end(new RpcError("INTERNAL", `Call ${id} of method ${method} makes no sense in its stream.`));
    }
    if (served === null) return this.#answers.add({ ...UNSERVED, id });
    const deadline = timeoutMs === 0 ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
    const place = new Place(deadline, (status, message, answer) => {
      this.#answers.add({ id, status, message, payload: answer, unserved: false, onSent: () => this.#forget(id) });
    });
    const call = new ServerCall(this.#streams.host, served, place);
    this.#calls.set(id, { id, deadline, call });
    this.#deadlines.watch(deadline);
    call.begin(this.#peer, traceparent);
    call.onReceiveMessage(payload);
  }

  /** All of the answer was sent, or nobody waits for it. */
  #forget(id: number): void {
    const owed = this.#calls.get(id);
    if (owed === undefined) return;
    this.#calls.delete(id);
    this.#answers.drop(id);
    owed.call.onCancel();
    if (this.#full && !this.#owesMuch()) {
      this.#full = false;
      this.#transport.startRead();
    }
    this.#endWhenAnswered();
  }

  #owesMuch(): boolean {
    return this.#calls.size > MAX_OWED_CALLS || this.#answers.owedBytes > MAX_OWED_BYTES;
  }

  #endWhenAnswered(): void {
    if (this.#over || !this.#clientEnded || this.#calls.size > 0 || !this.#answers.isEmpty) return;
    this.#close();
    this.#transport.sendStatus({ code: OK, details: "OK" });
  }

  #end(error: RpcError): void {
    if (this.#over) return;
    this.onCancel();
    this.#transport.sendStatus(statusOf(error));
  }

  #close(): void {
    this.#over = true;
    this.#answers.close();
    this.#deadlines.stop();
    this.#streams.delete(this);
    this.#streams.host.running.delete(this.#place);
  }
}

/** Where one call of the stream is answered. */
class Place implements AnswerTransport {
  readonly #deadline: number;
  readonly #end: (status: number, message: string, answer: Buffer) => void;
  #answer: Buffer = NOTHING;

  constructor(deadline: number, end: (status: number, message: string, answer: Buffer) => void) {
    this.#deadline = deadline;
    this.#end = end;
  }

  getDeadline(): number {
    return this.#deadline;
  }

  /** The stream's peer is that of its calls, which do not ask here. */
  getPeer(): string {
    return "unknown";
  }

  /** The request is there as a whole. */
  startRead(): void {}

  sendMessage(bytes: Buffer): void {
    this.#answer = bytes;
  }

  sendStatus({ code, details }: Parameters<AnswerTransport["sendStatus"]>[0]): void {
    this.#end(code, code === OK ? "" : details, this.#answer);
  }
}

const NOBODY: Peer = { header: () => undefined, address: () => "unknown", services: null };

const DRAINING = new RpcError("UNAVAILABLE", "The server is shutting down.");

const NOTHING: Buffer = Buffer.alloc(0);

const UNSERVED = { status: UNIMPLEMENTED, message: "", payload: NOTHING, unserved: true, onSent() {} };
