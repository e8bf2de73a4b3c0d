import type { Call } from "@unigate/core";

/** What ts-proto generates for a message, as far as rpc needs it. */
interface MessageType<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
}

/** One method of a generated service definition. */
export interface MethodDefinition {
  readonly name: string;
  readonly requestType: MessageType<never>;
  readonly requestStream: boolean;
  readonly responseType: MessageType<never>;
  readonly responseStream: boolean;
}

/** A service as ts-proto's generic definitions state it: the single statement of a port. */
export interface ServiceDefinition {
  readonly name: string;
  readonly fullName: string;
  readonly methods: Readonly<Record<string, unknown>>;
}

type MessageOf<T> = T extends { decode(input: never): infer M } ? M : never;

/**
 * A handler, and equally the caller's view of it: requests in, answers out, the call context beside them.
 * All four kinds: a message or an AsyncIterable on either side.
 */
type MethodPort<M> = M extends {
  requestType: infer Request;
  requestStream: infer RequestStream;
  responseType: infer Response;
  responseStream: infer ResponseStream;
}
  ? (
      request: RequestStream extends true ? AsyncIterable<MessageOf<Request>> : MessageOf<Request>,
      call: Call,
    ) => ResponseStream extends true ? AsyncIterable<MessageOf<Response>> : Promise<MessageOf<Response>>
  : never;

/** The port of a service. Expected outcomes are values in replies; a thrown RpcError is a fault of the mesh. */
export type ServicePort<D extends ServiceDefinition> = { readonly [K in keyof D["methods"]]: MethodPort<D["methods"][K]> };
