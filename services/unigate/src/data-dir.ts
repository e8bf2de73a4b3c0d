import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Longest path of a unix socket; a longer one is silently cut by the system. */
const MAX_SOCKET_PATH = 103;
const ANSWER_MS = 2_000;

/** Another process owns the data folder. */
class DataDirError extends Error {
  override readonly name = "DataDirError";
}

/**
 * Makes the folder (mode 0700) and owns it until `release`: a second process that wants the same folder is told the
 * pid of the first. The owner is whoever listens on the folder's socket, so that a crash leaves no stale lock.
 */
export async function ownDataDir(folder: string): Promise<{ release(): Promise<void> }> {
  const absolute = resolve(folder);
  mkdirSync(absolute, { recursive: true, mode: 0o700 });
  const path = socketPath(absolute);
  const owner = await ownerOf(path);
  if (owner !== null)
    throw new DataDirError(`the data folder ${absolute} is in use by process ${owner}; stop it, or set UNIGATE_DATA_DIR to another folder`);
  rmSync(path, { force: true });
  const server = createServer((socket) => socket.end(String(process.pid)));
  await listenOn(server, path, absolute);
  chmodSync(path, 0o600);
  server.unref();
  return { release: () => new Promise((done) => server.close(() => done())) };
}

function socketPath(folder: string): string {
  const own = join(folder, "run");
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const path = join(own, "owner.sock");
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH) return path;
  const hashed = join(tmpdir(), `unigate-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`);
  mkdirSync(hashed, { recursive: true, mode: 0o700 });
  return join(hashed, "owner.sock");
}

/** The pid of a living owner, or null. */
function ownerOf(path: string): Promise<string | null> {
  return new Promise((answer) => {
    const socket = connect(path);
    let text = "";
    socket.setTimeout(ANSWER_MS, () => {
      socket.destroy();
      answer("that does not answer");
    });
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    socket.on("end", () => answer(text === "" ? "unknown" : text));
    socket.on("error", () => answer(null));
  });
}

function listenOn(server: Server, path: string, folder: string): Promise<void> {
  return new Promise((done, fail) => {
    server.once("error", (cause) => fail(new DataDirError(`the data folder ${folder} cannot be locked: ${cause.message}`, { cause })));
    server.listen(path, done);
  });
}
