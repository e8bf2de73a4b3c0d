/**
 * Says "no more messages" within a stream of requests: a byte that no message can consist of, since there is no field 0.
 * HTTP/2 alone cannot say it. A client's reset goes out behind an ordinary end of its stream, so a caller that was cut
 * off looks like one that has finished; and a server cannot end a call without breaking the writes of a client that
 * still sends. So a client marks the end of its requests; a server that has answered before marks the end of its
 * answers and waits for the client to stop. Only peers that name themselves by USER_AGENT know the mark; from others the
 * end of the HTTP/2 stream is taken for what it says.
 */
export const END_MARK = Buffer.from([0x07]);

export const USER_AGENT = "unigate";

export function isEndMark(bytes: Buffer): boolean {
  return bytes.length === 1 && bytes[0] === END_MARK[0];
}
