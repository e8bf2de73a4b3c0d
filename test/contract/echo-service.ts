import { AppendAck, AppendBatch, Header } from "@unigate/contracts";
import { backgroundCall, type Call, CancelToken } from "@unigate/core";
import { isRpcError, type RpcError, type ServicePort } from "@unigate/rpc";

/** A service with a method of each kind, over messages that exist anyway. */
export type EchoDefinition = typeof EchoDefinition;
export const EchoDefinition = {
  name: "Echo",
  fullName: "unigate.test.v1.Echo",
  methods: {
    unary: { name: "Unary", requestType: AppendBatch, requestStream: false, responseType: AppendBatch, responseStream: false, options: {} },
    list: { name: "List", requestType: Header, requestStream: false, responseType: AppendBatch, responseStream: true, options: {} },
    upload: { name: "Upload", requestType: AppendBatch, requestStream: true, responseType: AppendAck, responseStream: false, options: {} },
    chat: { name: "Chat", requestType: AppendBatch, requestStream: true, responseType: AppendBatch, responseStream: true, options: {} },
  },
} as const;

export type EchoPort = ServicePort<EchoDefinition>;

/** Gives back what it gets: `list` as many batches as the value says, `upload` the sum of the offsets. */
export const echo: EchoPort = {
  async unary(request) {
    return request;
  },
  async *list(request) {
    for (let offset = 0; offset < Number(request.value); offset += 1) yield batch(offset);
  },
  async upload(requests) {
    let offset = 0;
    for await (const request of requests) offset += request.offset;
    return { spoolId: "sum", offset };
  },
  async *chat(requests) {
    yield* requests;
  },
};

export function batch(offset: number, ...records: Buffer[]): AppendBatch {
  return { spoolId: "spool", offset, records };
}

export function times(count: number): Header {
  return { name: "times", value: String(count) };
}

export async function* batches(count: number): AsyncGenerator<AppendBatch> {
  for (let offset = 0; offset < count; offset += 1) yield batch(offset);
}

export function newCall(more: Partial<Call> = {}): Call {
  return { ...backgroundCall(), cancel: new CancelToken(), ...more };
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const message of source) all.push(message);
  return all;
}

/** What the work failed with. Fails itself when the work succeeds or throws anything but an RpcError. */
export async function rpcErrorOf(work: Promise<unknown>): Promise<RpcError> {
  try {
    await work;
  } catch (error) {
    if (isRpcError(error)) return error;
    throw error;
  }
  throw new Error("the call succeeded");
}

export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** For handlers that never come to an end by themselves. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** The four kinds of call, each as a caller that reads everything. */
export const kinds: { name: keyof EchoPort; invoke: (port: EchoPort, call: Call) => Promise<unknown> }[] = [
  { name: "unary", invoke: (port, call) => port.unary(batch(1), call) },
  { name: "list", invoke: (port, call) => collect(port.list(times(3), call)) },
  { name: "upload", invoke: (port, call) => port.upload(batches(3), call) },
  { name: "chat", invoke: (port, call) => collect(port.chat(batches(3), call)) },
];

/** A service whose every method does `work` first; it is for what a handler throws or sees, not for its answers. */
export function echoAfter(work: (call: Call) => Promise<void>): EchoPort {
  return {
    async unary(request, call) {
      await work(call);
      return request;
    },
    async *list(_, call) {
      await work(call);
      yield batch(0);
    },
    async upload(_, call) {
      await work(call);
      return { spoolId: "", offset: 0 };
    },
    async *chat(_, call) {
      await work(call);
      yield batch(0);
    },
  };
}
