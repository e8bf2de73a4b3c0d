/** Of a server or a channel. */
export interface KeepaliveOptions {
  /**
   * How often a connection is asked whether anybody is there, in ms; default 30,000. One that does not answer for ten
   * seconds is cut. One that ends gracefully is not asked: its calls run on, and have their deadlines.
   */
  readonly keepaliveMs?: number;
}
