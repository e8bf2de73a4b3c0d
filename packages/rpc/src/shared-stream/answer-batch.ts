import { bytesFieldBytes, MessageReader, MessageWriter, numberFieldBytes, varintBytes } from "./protobuf.ts";

/** unigate.rpc.v1.Answer. */
export interface SharedAnswer {
  readonly id: number;
  readonly status: number;
  readonly message: string;
  readonly payload: Buffer;
  readonly more: boolean;
  readonly unserved: boolean;
}

/** unigate.rpc.v1.AnswerBatch. */
export interface AnswerBatch {
  readonly answers: readonly SharedAnswer[];
  readonly draining: boolean;
}

export function encodeAnswerBatch({ answers, draining }: AnswerBatch): Buffer {
  const sizes = answers.map(sizeOf);
  let size = numberFieldBytes(Number(draining));
  for (const bytes of sizes) size += 1 + varintBytes(bytes) + bytes;
  const writer = new MessageWriter(size);
  for (const [index, answer] of answers.entries()) {
    writer.head(1, sizes[index] ?? 0);
    write(writer, answer);
  }
  writer.numberField(2, Number(draining));
  return writer.bytes;
}

/** Payloads are parts of `bytes`. @throws Error when the bytes are no batch. */
export function decodeAnswerBatch(bytes: Buffer): AnswerBatch {
  const answers: SharedAnswer[] = [];
  let draining = false;
  const reader = new MessageReader(bytes);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) answers.push(reader.nested(read));
    else if (field === 2) draining = reader.number() !== 0;
    else reader.skip();
  }
  return { answers, draining };
}

function sizeOf(answer: SharedAnswer): number {
  return (
    numberFieldBytes(answer.id) +
    numberFieldBytes(answer.status) +
    bytesFieldBytes(textBytes(answer.message)) +
    bytesFieldBytes(answer.payload.length) +
    numberFieldBytes(Number(answer.more)) +
    numberFieldBytes(Number(answer.unserved))
  );
}

function write(writer: MessageWriter, answer: SharedAnswer): void {
  writer.numberField(1, answer.id);
  writer.numberField(2, answer.status);
  writer.textField(3, answer.message, textBytes(answer.message));
  writer.bytesField(4, answer.payload);
  writer.numberField(5, Number(answer.more));
  writer.numberField(6, Number(answer.unserved));
}

function read(reader: MessageReader): SharedAnswer {
  let id = 0;
  let status = 0;
  let message = "";
  let payload: Buffer = NOTHING;
  let more = false;
  let unserved = false;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) id = reader.number();
    else if (field === 2) status = reader.number();
    else if (field === 3) message = reader.text();
    else if (field === 4) payload = reader.bytes();
    else if (field === 5) more = reader.number() !== 0;
    else if (field === 6) unserved = reader.number() !== 0;
    else reader.skip();
  }
  return { id, status, message, payload, more, unserved };
}

function textBytes(text: string): number {
  return text === "" ? 0 : Buffer.byteLength(text);
}

const NOTHING: Buffer = Buffer.alloc(0);
