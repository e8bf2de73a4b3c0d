import { encodeAnswerBatch, type SharedAnswer } from "./answer-batch.ts";
import { ANSWER_PART_BYTES, BATCH_BYTES, MAX_UNSENT_BYTES, MESSAGE_HEAD_BYTES } from "./limits.ts";

/** How a call ended. */
export interface Ending {
  readonly id: number;
  readonly status: number;
  readonly message: string;
  readonly payload: Buffer;
  readonly unserved: boolean;
  /** Called once HTTP/2 has taken all of it. */
  readonly onSent: () => void;
}

interface Waiting {
  readonly ending: Ending;
  /** How much of the payload was sent. */
  sent: number;
}

type Send = (bytes: Buffer, onTaken: () => void) => void;

/** Puts the answers of one turn of the event loop into one message. Long ones are sent in parts, others between them. */
export class AnswerWriter {
  readonly #send: Send;
  readonly #onEmpty: () => void;
  /** By the ids of their calls, in the order in which they get their turn. */
  readonly #queue = new Map<number, Waiting>();
  #owedBytes = 0;
  #unsentBytes = 0;
  #flushing = false;
  #closed = false;

  /** `onEmpty` is called each time HTTP/2 has taken all that there was. */
  constructor(send: Send, onEmpty: () => void) {
    this.#send = send;
    this.#onEmpty = onEmpty;
  }

  /** Bytes of answers that HTTP/2 has not taken. */
  get owedBytes(): number {
    return this.#owedBytes;
  }

  /** Whether HTTP/2 has taken all answers. */
  get isEmpty(): boolean {
    return this.#queue.size === 0 && this.#unsentBytes === 0;
  }

  add(ending: Ending): void {
    this.#queue.set(ending.id, { ending, sent: 0 });
    this.#owedBytes += ending.payload.length;
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  /** At once, ahead of the answers that wait. */
  sayDraining(): void {
    this.#send(encodeAnswerBatch({ answers: [], draining: true }), nothing);
  }

  /** Nobody waits for the answer to a call any more: what was not sent of it is left out. */
  drop(id: number): void {
    const waiting = this.#queue.get(id);
    if (waiting === undefined) return;
    this.#queue.delete(id);
    this.#owedBytes -= waiting.ending.payload.length - waiting.sent;
  }

  /** Nobody takes answers any more. */
  close(): void {
    this.#closed = true;
    this.#queue.clear();
  }

  #flush(): void {
    this.#flushing = false;
    while (!this.#closed && this.#queue.size > 0 && this.#unsentBytes < MAX_UNSENT_BYTES) this.#sendBatch();
  }

  #sendBatch(): void {
    const answers: SharedAnswer[] = [];
    const complete: Ending[] = [];
    const unfinished: Waiting[] = [];
    let payloadBytes = 0;
    let size = 0;
    for (const [id, waiting] of this.#queue) {
      const { ending } = waiting;
      const payload = ending.payload.subarray(waiting.sent, waiting.sent + ANSWER_PART_BYTES);
      waiting.sent += payload.length;
      const more = waiting.sent < ending.payload.length;
      answers.push({ id, status: ending.status, message: ending.message, payload, more, unserved: ending.unserved });
      this.#queue.delete(id);
      if (more) unfinished.push(waiting);
      else complete.push(ending);
      payloadBytes += payload.length;
      size += payload.length + 3 * ending.message.length + MESSAGE_HEAD_BYTES;
      if (size >= BATCH_BYTES) break;
    }
    for (const waiting of unfinished) this.#queue.set(waiting.ending.id, waiting);
    const bytes = encodeAnswerBatch({ answers, draining: false });
    this.#unsentBytes += bytes.length;
    this.#send(bytes, () => {
      this.#unsentBytes -= bytes.length;
      this.#owedBytes -= payloadBytes;
      for (const ending of complete) ending.onSent();
      if (!this.#flushing) this.#flush();
      if (this.isEmpty) this.#onEmpty();
    });
  }
}

function nothing(): void {}
