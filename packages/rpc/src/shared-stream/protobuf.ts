/**
 * As much of the protobuf wire format as the batches of shared streams need. The generated code would copy every payload
 * once more in each direction; it lives in a package above this one besides.
 */

const VARINT = 0;
const FIXED_64 = 1;
const BYTES = 2;
const FIXED_32 = 5;

/** The bytes of a varint; `value` is a whole number below 2^32. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  if (value < 0x20_0000) return 3;
  return value < 0x1000_0000 ? 4 : 5;
}

/** The bytes of a number field below 16; none for zero. */
export function numberFieldBytes(value: number): number {
  return value === 0 ? 0 : 1 + varintBytes(value);
}

/** The bytes of a field below 16 with `length` bytes in it; none when it is empty. */
export function bytesFieldBytes(length: number): number {
  return length === 0 ? 0 : 1 + varintBytes(length) + length;
}

/** Fills a buffer whose size was worked out before. */
export class MessageWriter {
  readonly bytes: Buffer;
  #at = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.#at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.#at++] = rest;
  }

  /** The head of a field that is `length` bytes long, whatever follows. */
  head(field: number, length: number): void {
    this.bytes[this.#at++] = (field << 3) | BYTES;
    this.varint(length);
  }

  numberField(field: number, value: number): void {
    if (value === 0) return;
    this.bytes[this.#at++] = (field << 3) | VARINT;
    this.varint(value);
  }

  /** `length` is what `text` takes as UTF-8. */
  textField(field: number, text: string, length: number): void {
    if (length === 0) return;
    this.head(field, length);
    this.bytes.write(text, this.#at, length, "utf8");
    this.#at += length;
  }

  bytesField(field: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.head(field, bytes.length);
    this.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }
}

/** Reads a message that may come from anybody. Unknown fields are skipped. */
export class MessageReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  #type = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /** The number of the next field, 0 at the end. Its value must be read, or passed by `skip`. */
  field(): number {
    if (this.#at >= this.#end) return 0;
    const tag = this.varint();
    this.#type = tag & 7;
    if (tag >>> 3 === 0) throw broken();
    return tag >>> 3;
  }

  /** Whether the field that `field` gave holds bytes. */
  isBytes(): boolean {
    return this.#type === BYTES;
  }

  /** The low 32 bits of a varint. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined || this.#at >= this.#end) throw broken();
      this.#at += 1;
      if (shift < 32) value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw broken();
  }

  number(): number {
    if (this.#type !== VARINT) throw broken();
    return this.varint();
  }

  text(): string {
    const [from, to] = this.#range();
    return this.#bytes.toString("utf8", from, to);
  }

  /** A part of the message, not a copy. */
  bytes(): Buffer {
    const [from, to] = this.#range();
    return this.#bytes.subarray(from, to);
  }

  /** Reads a message within this one. */
  nested<T>(read: (reader: MessageReader) => T): T {
    const [from, to] = this.#range();
    const end = this.#end;
    this.#at = from;
    this.#end = to;
    const message = read(this);
    this.#at = to;
    this.#end = end;
    return message;
  }

  /** Adds the varints up to the end of this message to `numbers`. */
  packed(numbers: number[]): void {
    while (this.#at < this.#end) numbers.push(this.varint());
  }

  skip(): void {
    if (this.#type === BYTES) this.#range();
    else if (this.#type === VARINT) this.varint();
    else if (this.#type === FIXED_64) this.#pass(8);
    else if (this.#type === FIXED_32) this.#pass(4);
    else throw broken();
  }

  #range(): [number, number] {
    if (this.#type !== BYTES) throw broken();
    const length = this.varint();
    const from = this.#at;
    this.#pass(length);
    return [from, this.#at];
  }

  #pass(length: number): void {
    if (length > this.#end - this.#at) throw broken();
    this.#at += length;
  }
}

function broken(): Error {
  return new Error("The bytes are no message.");
}
