import { bytesFieldBytes, MessageReader, MessageWriter, numberFieldBytes, varintBytes } from "./protobuf.ts";

/** unigate.rpc.v1.Call. */
export interface SharedCall {
  readonly id: number;
  readonly method: number;
  readonly path: string;
  readonly timeoutMs: number;
  readonly traceparent: string;
  readonly payload: Buffer;
}

/** unigate.rpc.v1.CallBatch. */
export interface CallBatch {
  readonly calls: readonly SharedCall[];
  readonly cancelled: readonly number[];
}

export function encodeCallBatch({ calls, cancelled }: CallBatch): Buffer {
  const sizes = calls.map(sizeOf);
  let cancelledBytes = 0;
  for (const id of cancelled) cancelledBytes += varintBytes(id);
  let size = bytesFieldBytes(cancelledBytes);
  for (const bytes of sizes) size += 1 + varintBytes(bytes) + bytes;
  const writer = new MessageWriter(size);
  for (const [index, call] of calls.entries()) {
    writer.head(1, sizes[index] ?? 0);
    write(writer, call);
  }
  if (cancelledBytes > 0) writer.head(2, cancelledBytes);
  for (const id of cancelled) writer.varint(id);
  return writer.bytes;
}

/** Payloads are parts of `bytes`. @throws Error when the bytes are no batch. */
export function decodeCallBatch(bytes: Buffer): CallBatch {
  const calls: SharedCall[] = [];
  const cancelled: number[] = [];
  const reader = new MessageReader(bytes);
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) calls.push(reader.nested(read));
    else if (field === 2 && reader.isBytes()) reader.nested((ids) => ids.packed(cancelled));
    else if (field === 2) cancelled.push(reader.number());
    else reader.skip();
  }
  return { calls, cancelled };
}

/** Paths and traceparents are ASCII. */
function sizeOf(call: SharedCall): number {
  return (
    numberFieldBytes(call.id) +
    numberFieldBytes(call.method) +
    bytesFieldBytes(call.path.length) +
    numberFieldBytes(call.timeoutMs) +
    bytesFieldBytes(call.traceparent.length) +
    bytesFieldBytes(call.payload.length)
  );
}

function write(writer: MessageWriter, call: SharedCall): void {
  writer.numberField(1, call.id);
  writer.numberField(2, call.method);
  writer.textField(3, call.path, call.path.length);
  writer.numberField(4, call.timeoutMs);
  writer.textField(5, call.traceparent, call.traceparent.length);
  writer.bytesField(6, call.payload);
}

function read(reader: MessageReader): SharedCall {
  let id = 0;
  let method = 0;
  let path = "";
  let timeoutMs = 0;
  let traceparent = "";
  let payload: Buffer = NOTHING;
  for (let field = reader.field(); field !== 0; field = reader.field()) {
    if (field === 1) id = reader.number();
    else if (field === 2) method = reader.number();
    else if (field === 3) path = reader.text();
    else if (field === 4) timeoutMs = reader.number();
    else if (field === 5) traceparent = reader.text();
    else if (field === 6) payload = reader.bytes();
    else reader.skip();
  }
  return { id, method, path, timeoutMs, traceparent, payload };
}

const NOTHING: Buffer = Buffer.alloc(0);
