// The pieces of ASN.1 that a certificate is made of, each as its DER bytes.

/** A value with its tag and length; at most 65,535 bytes of content. */
export function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

export function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

/** The bytes of a positive number, its highest bit 0. */
export function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

/** An object identifier by the hex of its content. */
export function identifier(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

export function bitString(bytes: Buffer, unusedBits = 0): Buffer {
  return tagged(0x03, Buffer.from([unusedBits]), bytes);
}

export function commonName(name: string): Buffer {
  return sequence(tagged(0x31, sequence(identifier("550403"), tagged(0x0c, Buffer.from(name)))));
}

/** A UTCTime until 2049, a GeneralizedTime from then on (RFC 5280, section 4.1.2.5). */
export function time(date: Date): Buffer {
  const text = date.toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text));
}
