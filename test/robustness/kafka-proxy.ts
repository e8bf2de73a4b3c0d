import { startWeatherProxy, type WeatherProxy } from "@unigate/testkit";

/**
 * A way to one Kafka broker with weather on it. Brokers tell clients where they are to be reached: in what this one says
 * its port becomes the proxy's, so that nobody goes around it. The broker must advertise itself as 127.0.0.1.
 */
export async function startKafkaProxy(broker: string): Promise<WeatherProxy> {
  const real = placeOf(Number(broker.split(":").at(-1)));
  let shown = real;
  const proxy = await startWeatherProxy(broker, () => replacer(real, () => shown));
  shown = placeOf(proxy.port);
  return proxy;
}

/** A broker's place as the protocol writes it: the length of the host, the host, the port. */
function placeOf(port: number): Buffer {
  const host = Buffer.from("127.0.0.1");
  const place = Buffer.alloc(2 + host.length + 4);
  place.writeInt16BE(host.length, 0);
  host.copy(place, 2);
  place.writeInt32BE(port, 2 + host.length);
  return place;
}

/** Replaces what is as long; the end of a piece that may be its beginning waits for the next piece. */
function replacer(what: Buffer, by: () => Buffer): (piece: Buffer) => Buffer {
  let held = Buffer.alloc(0);
  return (piece) => {
    const bytes = Buffer.concat([held, piece]);
    for (let at = bytes.indexOf(what); at >= 0; at = bytes.indexOf(what, at + what.length)) by().copy(bytes, at);
    const keep = beginningAtEnd(bytes, what);
    held = bytes.subarray(bytes.length - keep);
    return bytes.subarray(0, bytes.length - keep);
  };
}

/** How many of the last bytes are the beginning of `what`. An answer never ends with it, so nothing waits for ever. */
function beginningAtEnd(bytes: Buffer, what: Buffer): number {
  for (let length = Math.min(what.length - 1, bytes.length); length > 1; length--) {
    if (bytes.subarray(bytes.length - length).equals(what.subarray(0, length))) return length;
  }
  return 0;
}
