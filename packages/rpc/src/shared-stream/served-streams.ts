import type { RpcError } from "../errors.ts";
import type { ServedMethod, ServerHost } from "../grpc/server-call.ts";
import type { Peer } from "../mesh-token.ts";

/** A stream of calls that is open. */
interface OpenStream {
  drain(): void;
}

/** The shared streams of a server. */
export class ServedStreams {
  readonly host: ServerHost;
  readonly #methods: ReadonlyMap<string, ServedMethod>;
  readonly #open = new Set<OpenStream>();
  #draining = false;

  constructor(host: ServerHost, methods: ReadonlyMap<string, ServedMethod>) {
    this.host = host;
    this.#methods = methods;
  }

  get draining(): boolean {
    return this.#draining;
  }

  add(stream: OpenStream): void {
    this.#open.add(stream);
  }

  delete(stream: OpenStream): void {
    this.#open.delete(stream);
  }

  /** What is served at a path to one request by one answer; null for all else, which is not for shared streams. */
  served(path: string): ServedMethod | null {
    const served = this.#methods.get(path);
    return served === undefined || served.method.requestStream || served.method.responseStream ? null : served;
  }

  /** Why a peer may not even open a stream: it may call nothing. Each call is looked at by itself later. */
  refusal(peer: Peer): RpcError | null {
    let first: RpcError | null = null;
    for (const { method } of this.#methods.values()) {
      const refused = this.host.authenticate?.(peer, method.path) ?? null;
      if (refused === null) return null;
      first ??= refused;
    }
    return first;
  }

  /** Tells all clients that the server is about to end, once. */
  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    for (const stream of this.#open) stream.drain();
  }
}
