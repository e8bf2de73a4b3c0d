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
  #queue: Waiting[] = [];
  #owedBytes = 0;
  #unsentBytes = 0;
  #flushing = false;
  #closed = false;

  constructor(send: Send) {
    this.#send = send;
  }

  /** Bytes of answers that HTTP/2 has not taken. */
  get owedBytes(): number {
    return this.#owedBytes;
  }

  add(ending: Ending): void {
    this.#queue.push({ ending, sent: 0 });
    this.#owedBytes += ending.payload.length;
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  /** At once, ahead of the answers that wait. */
  sayDraining(): void {
    this.#send(encodeAnswerBatch({ answers: [], draining: true }), nothing);
  }

  /** Nobody takes answers any more. */
  close(): void {
    this.#closed = true;
    this.#queue = [];
  }

  #flush(): void {
    this.#flushing = false;
    while (!this.#closed && this.#queue.length > 0 && this.#unsentBytes < MAX_UNSENT_BYTES) this.#sendBatch();
  }

  #sendBatch(): void {
    const answers: SharedAnswer[] = [];
    const complete: Ending[] = [];
    const unfinished: Waiting[] = [];
    let index = 0;
    let payloadBytes = 0;
    for (let size = 0; size < BATCH_BYTES; index += 1) {
      const waiting = this.#queue[index];
      if (waiting === undefined) break;
      const { ending } = waiting;
      const payload = ending.payload.subarray(waiting.sent, waiting.sent + ANSWER_PART_BYTES);
      waiting.sent += payload.length;
      const more = waiting.sent < ending.payload.length;
      answers.push({ id: ending.id, status: ending.status, message: ending.message, payload, more, unserved: ending.unserved });
      if (more) unfinished.push(waiting);
      else complete.push(ending);
      payloadBytes += payload.length;
      size += payload.length + 3 * ending.message.length + MESSAGE_HEAD_BYTES;
    }
    this.#queue = index < this.#queue.length ? this.#queue.slice(index).concat(unfinished) : unfinished;
    const bytes = encodeAnswerBatch({ answers, draining: false });
    this.#unsentBytes += bytes.length;
    this.#send(bytes, () => {
      this.#unsentBytes -= bytes.length;
      this.#owedBytes -= payloadBytes;
      for (const ending of complete) ending.onSent();
      if (!this.#flushing) this.#flush();
    });
  }
}

function nothing(): void {}
