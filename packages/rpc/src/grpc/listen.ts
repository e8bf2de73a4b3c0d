/** The kernel cuts longer socket paths silently. */
const MAX_SOCKET_PATH_BYTES = 107;

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

/**
 * Where a server listens: "host:port", "[host]:port", "unix:/path", or ":port", which is all addresses when callers must
 * show a certificate or token, and loopback when anybody may call. A second address is for machines without IPv6.
 * @throws Error when the text is none of these, and for an open address that anybody may call.
 */
export function listenAddresses(listen: string, secured: boolean): readonly string[] {
  if (listen.startsWith("unix:")) return [socketAddress(listen)];
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[\w.-]*):(\d{1,5})$/.exec(listen) ?? [];
  if (host === undefined || port === undefined || Number(port) > 65_535) {
    throw new Error(`Cannot listen on "${listen}": it must be host:port, [host]:port, :port or unix:/path.`);
  }
  if (host === "") return secured ? [`[::]:${port}`, `0.0.0.0:${port}`] : [`127.0.0.1:${port}`];
  if (secured || LOOPBACK.test(host)) return [listen];
  throw new Error(
    `Cannot listen on "${listen}": without certificates or a mesh token anybody could call. Set a mesh token, or listen on 127.0.0.1:${port}.`,
  );
}

function socketAddress(listen: string): string {
  const bytes = Buffer.byteLength(listen.slice("unix:".length));
  if (bytes > 0 && bytes <= MAX_SOCKET_PATH_BYTES) return listen;
  throw new Error(`Cannot listen on "${listen}": the path has ${bytes} bytes; a socket's path has 1 to ${MAX_SOCKET_PATH_BYTES}.`);
}

/** Says what is wrong with an address that could not be bound, and what to do. */
export function bindError(address: string, cause: Error): Error {
  return new Error(`Cannot listen on ${address}: ${reasonOf(address, cause.message)}`, { cause });
}

function reasonOf(address: string, text: string): string {
  const socket = address.startsWith("unix:");
  if (text.includes("EADDRINUSE")) {
    return socket
      ? "the socket exists. Stop the process that owns it, or remove the file when there is none."
      : "the port is in use. Stop the process that owns it, or listen on another port.";
  }
  if (text.includes("EACCES")) {
    return socket ? "its folder does not exist or may not be written to." : "this user may not use the port. Take one over 1023.";
  }
  if (text.includes("EADDRNOTAVAIL")) return "this machine does not have that address.";
  return text;
}
