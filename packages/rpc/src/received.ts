import { crc32 } from "node:zlib";

/** A buffer that some receiver was given, and what it held then. */
interface Given {
  readonly label: string;
  readonly bytes: Uint8Array;
  readonly checksum: number;
}

/** Older buffers are looked at for the last time and then forgotten, so that a long test does not keep them all. */
const MAX_REMEMBERED = 1_000;

/** Guards received messages: plain objects are frozen, bytes (which cannot be) are compared with what they were. */
export class ReceivedMessages {
  #given: Given[] = [];
  readonly #changed: string[] = [];

  /** Freezes the message and remembers its bytes; `label` says in errors what it was. */
  guard<T>(label: string, message: T): T {
    freeze(message, (bytes) => this.#given.push({ label, bytes, checksum: crc32(bytes) }));
    while (this.#given.length > MAX_REMEMBERED) this.#look(this.#given.shift());
    return message;
  }

  /** @throws Error naming the messages whose bytes are no longer what was received. */
  verify(): void {
    for (const given of this.#given) this.#look(given);
    this.#given = [];
    if (this.#changed.length === 0) return;
    throw new Error(`Received messages were changed by their receiver: ${this.#changed.join(", ")}. Copy the bytes before changing them.`);
  }

  #look(given: Given | undefined): void {
    if (given !== undefined && crc32(given.bytes) !== given.checksum) this.#changed.push(given.label);
  }
}

function freeze(value: unknown, onBytes: (bytes: Uint8Array) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (value instanceof Uint8Array) return onBytes(value);
  Object.freeze(value);
  for (const part of Object.values(value)) freeze(part, onBytes);
}
