import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { pipeline } from "node:stream/promises";

/** A way to a server over TCP on which a test makes the weather. Good weather at the start. */
export interface WeatherProxy {
  /** "127.0.0.1:<port>"; the port stays the same for as long as it lives. */
  readonly address: string;
  readonly port: number;
  /** Closes all connections; new ones go on. */
  cut(): void;
  /** The same with a reset in place of an end. */
  reset(): void;
  /** Nothing passes in either direction; connections stay, new ones are taken. */
  stall(stalled: boolean): void;
  /** Every piece is late by so many ms. */
  delay(ms: number): void;
  /** Closes all connections and refuses new ones. */
  stop(): Promise<void>;
  /** Listens again where it did. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Changes what comes from the server, piece by piece; one of its own for each connection. */
export type Rewrite = () => (piece: Buffer) => Buffer;

/** Starts a way to `target` ("host:port", or a URL with both) on a free port of loopback. */
export async function startWeatherProxy(target: string, rewrite: Rewrite = () => asItCame): Promise<WeatherProxy> {
  const { hostname, port: targetPort } = new URL(target.includes("://") ? target : `tcp://${target}`);
  const sockets = new Set<Socket>();
  let gate: { readonly opened: Promise<void>; readonly open: () => void } | null = null;
  let late = 0;

  function pass(from: Socket, to: Socket, change: (piece: Buffer) => Buffer): void {
    async function* weather(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const piece of pieces) {
        if (late > 0) await new Promise((resolve) => setTimeout(resolve, late));
        if (gate !== null) await gate.opened;
        yield change(piece);
      }
    }
    sockets.add(from);
    from.on("error", nothing);
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
    pipeline(from, weather, to).catch(nothing);
  }

  const server = createServer((near) => {
    const far = dial(Number(targetPort), hostname);
    pass(near, far, asItCame);
    pass(far, near, rewrite());
  });
  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(at, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  await listen(0);
  const { port } = server.address() as AddressInfo;

  function endAll(how: "destroy" | "resetAndDestroy"): void {
    for (const socket of sockets) socket[how]();
  }
  async function stop(): Promise<void> {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    endAll("destroy");
    await closed;
  }
  function stall(stalled: boolean): void {
    gate?.open();
    gate = stalled ? newGate() : null;
  }

  return {
    address: `127.0.0.1:${port}`,
    port,
    cut: () => endAll("destroy"),
    reset: () => endAll("resetAndDestroy"),
    stall,
    delay(ms) {
      late = ms;
    },
    stop,
    start: () => listen(port),
    async close() {
      await stop();
      stall(false);
    },
  };
}

function newGate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = nothing;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

function asItCame(piece: Buffer): Buffer {
  return piece;
}

function nothing(): void {}
