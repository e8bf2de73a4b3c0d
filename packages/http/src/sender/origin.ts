import type { LookupFunction } from "node:net";
import { Connection, type Home } from "./connection.ts";
import type { Carrier, OpenExchange } from "./open-exchange.ts";
import type { SenderCounters } from "./sender-counters.ts";
import type { SenderLimits } from "./sender-limits.ts";

/** The connections to one scheme, host and port. */
export class Origin implements Home {
  readonly url: string;
  readonly limits: SenderLimits;
  readonly counters: SenderCounters;
  readonly lookup: LookupFunction | null;
  tlsSession: Buffer | null = null;
  /** Order of last use, for the table. */
  usedAt = 0;

  /** The one used last is taken first: the others may idle out. */
  private readonly free: Connection[] = [];
  private readonly all = new Set<Connection>();
  private readonly waiting: OpenExchange[] = [];
  private retired = false;

  constructor(url: string, limits: SenderLimits, counters: SenderCounters, lookup: LookupFunction | null) {
    this.url = url;
    this.limits = limits;
    this.counters = counters;
    this.lookup = lookup;
  }

  /** True when no connection is left. */
  get empty(): boolean {
    return this.all.size === 0;
  }

  /** Carries `exchange` on a free connection, on a new one, or once one is free when all are taken. */
  carry(exchange: OpenExchange): void {
    const connection = this.free.pop();
    if (connection !== undefined) {
      this.counters.reuses += 1;
      connection.carry(exchange);
    } else if (this.all.size < this.limits.connectionsPerOrigin) this.connect(exchange);
    else this.enqueue(exchange);
  }

  carryOnNew(exchange: OpenExchange): void {
    this.counters.resends += 1;
    this.connect(exchange);
  }

  onFree(connection: Connection): void {
    const next = this.waiting.shift();
    if (next !== undefined) connection.carry(next);
    else if (this.retired) connection.discard();
    else this.free.push(connection);
  }

  onClosed(connection: Connection): void {
    this.all.delete(connection);
    this.counters.connections -= 1;
    const at = this.free.indexOf(connection);
    if (at >= 0) this.free.splice(at, 1);
    if (this.all.size >= this.limits.connectionsPerOrigin) return;
    const next = this.waiting.shift();
    if (next !== undefined) this.connect(next);
  }

  /** Out of the table: the free connections close now, the others when there is nothing left for them. */
  retire(): void {
    this.retired = true;
    for (const connection of this.free.slice()) connection.discard();
  }

  /** Ends everything as cancelled. */
  close(): void {
    this.retired = true;
    for (const exchange of this.waiting.slice()) exchange.cancel("shutdown");
    for (const connection of this.all) connection.shutDown();
  }

  private connect(exchange: OpenExchange): void {
    const connection = new Connection(this);
    this.all.add(connection);
    this.counters.connections += 1;
    connection.carry(exchange);
  }

  private enqueue(exchange: OpenExchange): void {
    this.waiting.push(exchange);
    exchange.carrier = new PlaceInQueue(this.waiting, exchange);
    exchange.waitForConnection();
  }
}

/** What carries an exchange that has no connection yet. */
class PlaceInQueue implements Carrier {
  readonly reused = false;
  readonly writable = false;
  private readonly waiting: OpenExchange[];
  private readonly exchange: OpenExchange;

  constructor(waiting: OpenExchange[], exchange: OpenExchange) {
    this.waiting = waiting;
    this.exchange = exchange;
  }

  discard(): void {
    const at = this.waiting.indexOf(this.exchange);
    if (at >= 0) this.waiting.splice(at, 1);
  }

  release(): void {}

  carryAgain(): void {}
}
