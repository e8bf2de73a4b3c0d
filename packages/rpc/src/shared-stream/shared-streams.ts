import type { RpcError } from "../errors.ts";
import type { Link } from "../grpc/link.ts";
import type { Method } from "../method.ts";
import { ClientStream, type StreamEvents } from "./client-stream.ts";
import { MAX_SHARED_REQUEST_BYTES } from "./limits.ts";

/** One for each replica, up to this many. */
const MAX_STREAMS = 8;
/** Replicas come and go, and servers want their connections to end. */
const AGE_MS = 60_000;
const AGE_JITTER = 0.2;
/** While there are streams, others are looked for so often, ms. */
const BETWEEN_SEARCHES_MS = 10_000;
/** After a stream broke or there was no connection for one, ms. */
const AFTER_BREAK_MS = 1_000;
/** After a server refused, which an older one does, ms. */
const AFTER_REFUSAL_MS = 60_000;

/**
 * The shared streams of a channel: opened when there are calls, one for each replica that the channel's round robin
 * leads to, and used in turn.
 */
export class SharedStreams {
  readonly #link: Link;
  readonly #plain: StreamEvents["plain"];
  readonly #ageMs: number;
  #open: ClientStream[] = [];
  #opening: ClientStream | null = null;
  #turn = 0;
  #asked = false;
  #closed = false;
  /** Unix ms before which none is opened. */
  #notBefore = 0;
  /** Unix ms before which none is opened beside those that are open. */
  #searchAt = 0;
  /** Streams in a row that led to a replica that has one. */
  #repeats = 0;
  #waiting: (() => void)[] = [];

  /** `plain` makes a call in a way of its own; a stream is used for about `ageMs`. */
  constructor(link: Link, plain: StreamEvents["plain"], ageMs: number = AGE_MS) {
    this.#link = link;
    this.#plain = plain;
    this.#ageMs = ageMs;
  }

  /** A stream for a call with a request of `bytes` bytes; null when it is better made plainly. All calls of one turn of the event loop get the same. */
  take(method: Method, bytes: number): ClientStream | null {
    if (this.#closed || bytes > MAX_SHARED_REQUEST_BYTES) return null;
    this.#openMore();
    if (this.#open[this.#turn]?.isCollecting !== true) this.#turn = this.#turn + 1 < this.#open.length ? this.#turn + 1 : 0;
    const stream = this.#open[this.#turn];
    return stream?.hasRoomFor(method) === true ? stream : null;
  }

  /** Resolves when a stream is open, or none can be had now. */
  settled(): Promise<void> {
    this.#openMore();
    if (this.#open.length > 0 || !this.#asked) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Later calls get no stream; those under way are answered. */
  close(): void {
    this.#closed = true;
    this.#opening?.leave();
    for (const stream of this.#open.slice()) stream.leave();
  }

  #openMore(): void {
    if (this.#asked || this.#open.length >= MAX_STREAMS) return;
    const now = Date.now();
    if (now < this.#notBefore || (now < this.#searchAt && this.#open.length > 0)) return;
    this.#asked = true;
    // The call that asks goes first, and waits for nothing.
    setImmediate(() => this.#openOne());
  }

  #openOne(): void {
    if (this.#closed) return this.#settle();
    try {
      const stream: ClientStream = new ClientStream(this.#link, {
        onOpen: () => this.#opened(stream),
        onLeave: () => {
          clearTimeout(age);
          this.#left(stream);
        },
        onBroken: (error) => {
          clearTimeout(age);
          this.#broken(stream, error);
        },
        plain: this.#plain,
      });
      const age = setTimeout(() => stream.leave(), this.#ageMs * (1 + AGE_JITTER * (2 * Math.random() - 1)));
      age.unref();
      this.#opening = stream;
    } catch {
      this.#closed = true;
      this.#settle();
    }
  }

  #opened(stream: ClientStream): void {
    const isNew = !this.#open.some(({ peer }) => peer === stream.peer);
    if (isNew) this.#open.push(stream);
    this.#settle();
    this.#repeats = isNew ? 0 : this.#repeats + 1;
    if (isNew) return;
    if (this.#repeats >= this.#open.length) {
      this.#repeats = 0;
      this.#searchAt = Date.now() + BETWEEN_SEARCHES_MS;
    }
    stream.leave();
  }

  #left(stream: ClientStream): void {
    if (this.#opening === stream) this.#settle();
    if (this.#remove(stream)) this.#searchAt = 0;
  }

  #broken(stream: ClientStream, error: RpcError): void {
    const refused = !this.#remove(stream) && error.code !== "UNAVAILABLE";
    this.#notBefore = Date.now() + (refused ? AFTER_REFUSAL_MS : AFTER_BREAK_MS);
    if (this.#opening === stream) this.#settle();
  }

  #remove(stream: ClientStream): boolean {
    const at = this.#open.indexOf(stream);
    if (at >= 0) this.#open.splice(at, 1);
    return at >= 0;
  }

  /** The attempt to open one is over. */
  #settle(): void {
    this.#opening = null;
    this.#asked = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
