import { encodeMessage } from "../message-size.ts";
import type { Method } from "../method.ts";
import { askNext, letGo } from "../pulled-stream.ts";
import type { Link, Transport } from "./link.ts";

/**
 * Sends a caller's requests. The next is asked for once grpc-js took the last: it holds 1 MiB of a call, for the case
 * that it must be sent again, and beyond that takes what fits into the peer's HTTP/2 window.
 */
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

  #send(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      this.#taken = resolve;
      this.#transport.sendMessageWithContext({ callback: () => resolve() }, bytes);
    });
  }
}
