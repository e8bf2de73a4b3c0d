import { RpcError } from "./errors.ts";
import type { Codec, Method } from "./method.ts";

const MIB = 1024 * 1024;

/** What bounds the calls of a server or channel. Services of one mesh need the same. */
export interface RpcLimits {
  /** The largest HTTP body that the gateway takes, in bytes; default 20 MiB. A message may be twice that and 1 MiB. */
  readonly bodyLimit?: number;
}

export function maxMessageBytes(limits: RpcLimits = {}): number {
  return 2 * (limits.bodyLimit ?? 20 * MIB) + MIB;
}

/**
 * A message as bytes.
 * @throws RpcError RESOURCE_EXHAUSTED when it is over `maxBytes`, INTERNAL when it does not fit its type.
 */
export function encodeMessage(method: Method, codec: Codec, message: unknown, maxBytes: number): Buffer {
  let bytes: Buffer;
  try {
    bytes = codec.encode(message);
  } catch (error) {
    throw new RpcError("INTERNAL", `${method.label}: a message cannot be encoded.`, error);
  }
  if (bytes.length <= maxBytes) return bytes;
  throw new RpcError("RESOURCE_EXHAUSTED", `${method.label}: a message of ${bytes.length} bytes is over the limit of ${maxBytes} bytes.`);
}

/** @throws RpcError INTERNAL when the bytes are no such message. */
export function decodeMessage(method: Method, codec: Codec, bytes: Uint8Array): unknown {
  try {
    return codec.decode(bytes);
  } catch (error) {
    throw new RpcError("INTERNAL", `${method.label}: a message cannot be decoded.`, error);
  }
}
