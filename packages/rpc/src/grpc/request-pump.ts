import { encodeMessage } from "../message-size.ts";
import type { Method } from "../method.ts";
import { askNext, letGo } from "../pulled-stream.ts";
import { END_MARK } from "./end-mark.ts";
import type { Link, Transport } from "./link.ts";

/** Sends a caller's requests: the next is asked for once HTTP/2 has taken the last, so not while the peer's window is full. */
export class RequestPump {
  readonly #link: Link;
  readonly #method: Method;
  readonly #transport: Transport;
  readonly #onFailure: (error: unknown) => void;
  #iterator: AsyncIterator<unknown> | null = null;
  #over = false;
  #taken: (() => void) | null = null;

  /** `onFailure` gets what the caller's requests threw, as it is, or why one could not be sent. */
  constructor(link: Link, method: Method, transport: Transport, onFailure: (error: unknown) => void) {
    this.#link = link;
    this.#method = method;
    this.#transport = transport;
    this.#onFailure = onFailure;
  }

  /** Never rejects. */
  async run(requests: AsyncIterable<unknown>): Promise<void> {
    try {
      const iterator = requests[Symbol.asyncIterator]();
      this.#iterator = iterator;
      for (;;) {
        const result = await askNext(iterator);
        if (this.#over) return;
        if (result.done === true) break;
        await this.#send(encodeMessage(this.#method, this.#method.request, result.value, this.#link.maxBytes));
        if (this.#over) return;
      }
      this.#over = true;
      this.#transport.sendMessageWithContext({}, END_MARK);
      this.#transport.halfClose();
    } catch (error) {
      if (this.#over) return;
      this.stop();
      this.#onFailure(error);
    }
  }

  /** The call is over: nothing more is sent, the caller's iterator is let go. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#taken?.();
    if (this.#iterator !== null) letGo(this.#iterator);
  }

  /** The call has its answers: the server is told that no more requests come. */
  answered(): void {
    if (this.#over) return;
    this.stop();
    this.#transport.halfClose();
  }

  #send(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#taken = resolve;
      this.#transport.sendMessageWithContext({ callback: () => resolve() }, bytes);
    });
  }
}
