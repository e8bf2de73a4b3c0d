import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type buildConnector, Client } from "undici";
import type { Carrier, OpenExchange } from "./open-exchange.ts";
import type { SenderCounters } from "./sender-counters.ts";
import type { SenderLimits } from "./sender-limits.ts";

/** TCP keep-alive probes on open connections start after this, ms: finds dead peers of silent streams. */
const PROBE_AFTER_MS = 60_000;

/** How long one of several addresses may take before the next is tried, ms; Node's own 250 is too short for far hosts. */
const NEXT_ADDRESS_AFTER_MS = 500;

/** What a connection needs of the origin it belongs to. */
export interface Home {
  /** "https://api.example.com" */
  readonly url: string;
  readonly limits: SenderLimits;
  readonly counters: SenderCounters;
  /** Resolves and checks a name; null = the system's own resolver. */
  readonly lookup: LookupFunction | null;
  /** The newest TLS session, to spare a handshake. */
  tlsSession: Buffer | null;
  /** `connection` may carry another exchange. */
  onFree(connection: Connection): void;
  /** `connection` is gone. */
  onClosed(connection: Connection): void;
  /** Carries `exchange` on a new connection, whatever is free. */
  carryOnNew(exchange: OpenExchange): void;
}

/**
 * One connection to an origin, for one exchange at a time: an undici Client without pipelining. One to one, so that an
 * exchange that is given up while connecting takes exactly its own socket with it.
 */
export class Connection implements Carrier {
  reused = false;
  private exchange: OpenExchange | null = null;
  private readonly home: Home;
  private readonly client: Client;
  private socket: Socket | null = null;
  private idleSince = 0;
  private closed = false;

  constructor(home: Home) {
    this.home = home;
    const { keepAliveMs, maxHeaderBytes } = home.limits;
    this.client = new Client(home.url, {
      connect: (target: buildConnector.Options, callback: buildConnector.Callback) => this.connect(target, callback),
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      maxHeaderSize: maxHeaderBytes,
    });
    this.client.on("disconnect", () => this.onDisconnect());
  }

  get writable(): boolean {
    return this.socket === null || this.socket.errored === null;
  }

  /** Carries `exchange`; this connection must be free. */
  carry(exchange: OpenExchange): void {
    this.exchange = exchange;
    exchange.carrier = this;
    // The peer may have closed an idle connection. A turn of the event loop brings that news before the request is written.
    const doubtful = this.reused && performance.now() - this.idleSince > this.home.limits.idleCheckMs;
    if (doubtful) setImmediate(dispatchLater, this, exchange);
    else this.client.dispatch(exchange.options, exchange);
  }

  /** What `carry` put off. */
  dispatch(exchange: OpenExchange): void {
    if (this.exchange === exchange) this.client.dispatch(exchange.options, exchange);
  }

  release(): void {
    this.exchange = null;
    this.reused = true;
    this.idleSince = performance.now();
    this.home.onFree(this);
  }

  discard(): void {
    this.exchange = null;
    if (this.closed) return;
    this.closed = true;
    this.client.destroy(noop);
    // undici destroys only sockets that are connected.
    this.socket?.destroy(new Error("The connection was given up."));
    this.home.onClosed(this);
  }

  carryAgain(exchange: OpenExchange): void {
    this.home.carryOnNew(exchange);
    this.discard();
  }

  /** Ends what it carries as cancelled, and the connection with it. */
  shutDown(): void {
    if (this.exchange === null) this.discard();
    else this.exchange.cancel("shutdown");
  }

  private onDisconnect(): void {
    // With an exchange aboard undici has failed it already, or connects again by itself (nothing of it was written yet).
    if (this.exchange === null) this.discard();
  }

  private connect(target: buildConnector.Options, callback: buildConnector.Callback): void {
    const { home } = this;
    this.reused = false;
    this.exchange?.waitForConnection();
    const secure = target.protocol === "https:";
    const socket = secure ? this.connectSecurely(target) : connectTcp(this.address(target, 80));
    this.socket = socket;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, PROBE_AFTER_MS);
    let settled = false;
    socket.on("error", (error: NodeJS.ErrnoException) => {
      markReset(error);
      if (settled) return;
      settled = true;
      callback(error, null);
    });
    // Before undici's own listener, as the one for errors.
    socket.on("end", () => this.exchange?.onSocketEnd());
    socket.once(secure ? "secureConnect" : "connect", () => {
      settled = true;
      home.counters.connects += 1;
      callback(null, socket);
    });
  }

  private connectSecurely(target: buildConnector.Options): Socket {
    const { home } = this;
    const socket = connectTls({
      ...this.address(target, 443),
      ...(home.limits.ca === null ? {} : { ca: home.limits.ca }),
      ...(home.tlsSession === null ? {} : { session: home.tlsSession }),
      servername: isIP(target.hostname) === 0 ? target.hostname : "",
      ALPNProtocols: ["http/1.1"],
      // Said aloud, so that no environment variable can say otherwise.
      rejectUnauthorized: true,
    });
    socket.on("session", (session) => {
      home.tlsSession = session;
    });
    return socket;
  }

  private address(target: buildConnector.Options, defaultPort: number) {
    const { lookup } = this.home;
    return {
      host: target.hostname,
      port: Number(target.port) || defaultPort,
      ...(lookup === null ? {} : { lookup }),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
      highWaterMark: 64 * 1024,
    };
  }
}

function dispatchLater(connection: Connection, exchange: OpenExchange): void {
  connection.dispatch(exchange);
}

/**
 * undici 7 takes ECONNRESET on a connection that the answer closes for a clean end of the body, and when reading is
 * paused then, an assertion of its ends the process. A reset is an error: under another code undici reports it as one.
 * Must run before undici's own listener, so it is added first.
 */
function markReset(error: NodeJS.ErrnoException): void {
  if (error.code === "ECONNRESET") error.code = "EUPSTREAMRESET";
}

function noop(): void {}
