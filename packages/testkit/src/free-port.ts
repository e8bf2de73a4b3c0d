import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that a system gives to outgoing connections: one of those may be taken before somebody listens on it. */
const [FIRST, LAST] = [20_000, 29_999];

/** A port of loopback that nobody listens on now. */
export async function freePort(): Promise<number> {
  const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return freePort();
    throw error;
  }
  server.close();
  await once(server, "close");
  return port;
}
