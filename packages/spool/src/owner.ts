import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";

// Who owns a folder. A pid says nothing: every container has a process 1, and pids come again. So the owner listens on
// a unix socket beside its folder for as long as it lives; the kernel ends that with the process, and it can be asked
// from every container that shares the volume. A folder's name is used once, so a folder whose owner is gone never gets
// that owner back: who wants it renames it into its own folder, which only one can do.
// A socket cannot be asked from another kernel (a volume that moved, or is shared by machines), and some file systems
// know none. There the owner's folder is touched every few seconds, and is free once that stopped for long.

/** A folder of this process. */
export interface OwnFolder {
  readonly id: string;
  readonly path: string;
  /** Makes folder and lock when they are not there. Throws what the file system says. */
  ensure(): Promise<void>;
  /** Says that this process lives. False when the folder is gone. */
  touch(): Promise<boolean>;
  /** Stops owning it; says in the folder, if it is still there, that it is free. */
  release(): Promise<void>;
}

interface OwnerFile {
  readonly machine: string;
  readonly pid: number;
  /** It listens on the socket. */
  readonly socket: boolean;
  /** It ended in good order. */
  readonly closed: boolean;
}

/** Longest path of a unix socket; a longer one is silently cut by the system. */
const MAX_SOCKET_PATH = 103;
const ANSWER_MS = 2_000;

/** A folder `<dir>/<id>`; nothing is made yet. `id` must never have been used. */
export function ownFolder(dir: string, id: string): OwnFolder {
  const path = join(resolve(dir), id);
  let server: Server | null = null;
  /** One at a time: a second try to listen fails, and would be taken for a file system without sockets. */
  let locking: Promise<Server | null> | null = null;
  let isMade = false;
  /** One at a time: two would rename one file. */
  let making: Promise<void> | null = null;

  async function lock(): Promise<void> {
    const socket = lockPath(dir, id);
    if (Buffer.byteLength(socket) > MAX_SOCKET_PATH) return;
    locking ??= listenOn(socket);
    server = await locking;
  }

  async function make(): Promise<void> {
    if (isMade && (await exists(path))) return;
    await makeFolder(resolve(dir));
    // Before the folder: a folder without a living lock is free.
    await lock();
    await makeFolder(path);
    await writeOwner(path, { machine: await machineId(), pid: process.pid, socket: server !== null, closed: false });
    isMade = true;
  }

  return {
    id,
    path,
    ensure() {
      making ??= make().finally(() => {
        making = null;
      });
      return making;
    },
    async touch() {
      if (!isMade) return true;
      const now = new Date();
      try {
        await utimes(path, now, now);
        return true;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== "ENOENT";
      }
    },
    async release() {
      const last = { machine: await machineId(), pid: process.pid, socket: false, closed: true };
      if (isMade) await writeOwner(path, last).catch(() => undefined);
      const listening = server;
      if (listening !== null) await new Promise<void>((done) => listening.close(() => done()));
    },
  };
}

/** Whether nobody owns the folder `<dir>/<id>` any more. */
export async function isAbandoned(dir: string, id: string, now: number, quietMs: number): Promise<boolean> {
  const path = join(resolve(dir), id);
  const owner = await readOwner(path);
  if (owner?.closed === true) return true;
  const socket = lockPath(dir, id);
  if (owner?.socket === true && owner.machine === (await machineId()) && Buffer.byteLength(socket) <= MAX_SOCKET_PATH) {
    const answer = await ask(socket);
    if (answer !== "nothing_there") return answer === "refused";
  }
  try {
    return now - (await stat(path)).mtimeMs > quietMs;
  } catch {
    return false;
  }
}

/** Removes what is left of the lock of an owner that is gone. */
export async function removeLock(dir: string, id: string): Promise<void> {
  await rm(lockPath(dir, id), { force: true });
}

function lockPath(dir: string, id: string): string {
  return join(resolve(dir), `${id}.lock`);
}

/** "alive" also when that cannot be told: a folder is rather left than taken from a living process. */
function ask(path: string): Promise<"alive" | "refused" | "nothing_there"> {
  return new Promise((answer) => {
    const socket = connect(path);
    socket.setTimeout(ANSWER_MS, () => {
      socket.destroy();
      answer("alive");
    });
    socket.on("connect", () => {
      socket.destroy();
      answer("alive");
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      answer(error.code === "ECONNREFUSED" ? "refused" : error.code === "ENOENT" ? "nothing_there" : "alive");
    });
  });
}

/** Null where the file system knows no sockets. */
function listenOn(path: string): Promise<Server | null> {
  return new Promise((done) => {
    const server = createServer((socket) => socket.destroy());
    server.once("error", () => done(null));
    // Exclusive: a worker of node:cluster would else listen in its primary, and outlive itself.
    server.listen({ path, exclusive: true }, () => {
      server.unref();
      done(server);
    });
  });
}

let machine: string | null = null;

/** Names the running kernel, where there is a way; else the host. */
async function machineId(): Promise<string> {
  machine ??= await readFile("/proc/sys/kernel/random/boot_id", "utf8").then((text) => text.trim(), hostname);
  return machine;
}

const OWNER = "owner";

async function writeOwner(folder: string, owner: OwnerFile): Promise<void> {
  const path = join(folder, OWNER);
  await writeFile(`${path}.new`, JSON.stringify(owner), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function readOwner(folder: string): Promise<Partial<OwnerFile> | null> {
  try {
    return JSON.parse(await readFile(join(folder, OWNER), "utf8")) as Partial<OwnerFile> | null;
  } catch {
    return null;
  }
}

/** Step by step: of a read-only disk a recursive mkdir says only that there is no such folder. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT") throw error;
    await makeFolder(dirname(path));
    await mkdir(path, { mode: 0o700 });
  }
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
