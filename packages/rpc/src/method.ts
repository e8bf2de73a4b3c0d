import type { ServiceDefinition } from "./types.ts";

/** Turns messages of one type into bytes and back. */
export interface Codec {
  encode(message: unknown): Buffer;
  decode(bytes: Uint8Array): unknown;
}

/** One method of a definition, with all that is worth working out once and not at each call. */
export interface Method {
  /** Its name in the port. */
  readonly key: string;
  /** "/unigate.cache.v1.Cache/Lookup". */
  readonly path: string;
  /** "Cache.Lookup", for the words of errors. */
  readonly label: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly request: Codec;
  readonly response: Codec;
}

/** A handler before its types are known: the request, or the requests, and the call. */
export type Handler = (request: unknown, call: unknown) => unknown;

export function methodsOf(definition: ServiceDefinition): Method[] {
  return Object.entries(definition.methods).map(([key, entry]) => {
    const method = entry as GeneratedMethod;
    return {
      key,
      path: `/${definition.fullName}/${method.name}`,
      label: `${definition.name}.${method.name}`,
      requestStream: method.requestStream,
      responseStream: method.responseStream,
      request: codecOf(method.requestType),
      response: codecOf(method.responseType),
    };
  });
}

/** The implementation's own function for a method; null when it has none. */
export function handlerOf(implementation: object, method: Method): Handler | null {
  const handler: unknown = (implementation as Record<string, unknown>)[method.key];
  return typeof handler === "function" ? (handler.bind(implementation) as Handler) : null;
}

interface GeneratedMethod {
  readonly name: string;
  readonly requestType: GeneratedType;
  readonly requestStream: boolean;
  readonly responseType: GeneratedType;
  readonly responseStream: boolean;
}

interface GeneratedType {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
}

function codecOf(type: GeneratedType): Codec {
  return {
    encode(message) {
      const bytes = type.encode(message).finish();
      return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    decode: (bytes) => type.decode(bytes),
  };
}
