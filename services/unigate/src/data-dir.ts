import { createHash, randomBytes } from "node:crypto";
import { chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";

/** Longest path of a unix socket; a longer one is silently cut by the system. */
const MAX_SOCKET_PATH = 103;
const ANSWER_MS = 2_000;

/** Another process owns the data folder. */
class DataDirError extends Error {
  override readonly name = "DataDirError";
}

/** A data folder that belongs to this process. */
export interface OwnedDataDir {
  /** A folder for sockets that only this user may enter; a name of at most 12 bytes in it is short enough for a socket. */
  readonly run: string;
  release(): Promise<void>;
}

/**
 * Makes the folder (mode 0700) and owns it until `release`: a second process that wants the same folder is told the
 * pid of the first. The owner is whoever listens on the highest numbered socket, so that a crash leaves no stale lock.
 * A dead socket is never removed and made again, which two starts at once could both do: the next number is taken, by a
 * link to a socket that listens already, and only one of them can make that link. `setting` is the variable that names
 * the folder, for the words of DataDirError.
 */
export async function ownDataDir(folder: string, setting = "UNIGATE_DATA_DIR"): Promise<OwnedDataDir> {
  const absolute = resolve(folder);
  makeFolder(absolute, setting);
  const run = socketFolder(absolute);
  const draft = join(run, `t${randomBytes(4).toString("hex")}`);
  const server = createServer((socket) => socket.end(String(process.pid)));
  await listenOn(server, draft, absolute);
  chmodSync(draft, 0o600);
  server.unref();
  const release = (): Promise<void> => new Promise((done) => server.close(() => done()));
  for (;;) {
    const highest = numbersIn(run).at(-1) ?? 0;
    const owner = highest === 0 ? null : await ownerOf(join(run, socketName(highest)));
    if (owner !== null) {
      await release();
      throw new DataDirError(`the data folder ${absolute} is in use by process ${owner}; stop it, or set ${setting} to another folder`);
    }
    const own = highest + 1;
    if (!linked(draft, join(run, socketName(own)))) continue;
    const numbers = numbersIn(run);
    if (numbers.at(-1) !== own) {
      // This number was free only because a later owner had removed it.
      removeSocket(join(run, socketName(own)));
      continue;
    }
    for (const number of numbers) if (number < own) removeSocket(join(run, socketName(number)));
    return { run, release };
  }
}

function makeFolder(folder: string, setting: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new DataDirError(`the data folder ${folder} cannot be made: ${String(cause)}; set ${setting} to another folder`, { cause });
  }
}

function socketName(number: number): string {
  return `o${number}.sock`;
}

/** Numbers of the sockets in a folder, the lowest first. */
function numbersIn(folder: string): number[] {
  return readdirSync(folder)
    .map((name) => Number(/^o(\d{1,9})\.sock$/.exec(name)?.[1] ?? 0))
    .filter((number) => number > 0)
    .sort((one, other) => one - other);
}

/** False when the name is taken. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Not by rmSync: it asks what the path is, and Node 20 takes the answer "socket" for that of the next path whose links
 * it resolves, so that imports after it do not find their packages.
 */
export function removeSocket(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}

function socketFolder(folder: string): string {
  const own = join(folder, "run");
  mkdirSync(own, { recursive: true, mode: 0o700 });
  if (Buffer.byteLength(join(own, socketName(999_999))) <= MAX_SOCKET_PATH) return own;
  const hashed = join(tmpdir(), `unigate-${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`);
  mkdirSync(hashed, { recursive: true, mode: 0o700 });
  requireOwn(hashed);
  return hashed;
}

/** Anybody may make a folder there first, and would then be between the processes of this one. */
function requireOwn(folder: string): void {
  const { uid, mode } = lstatSync(folder);
  if (uid !== userInfo().uid)
    throw new DataDirError(`${folder} belongs to another user; remove it, or set UNIGATE_DATA_DIR to a folder with a shorter path`);
  if ((mode & 0o077) !== 0) chmodSync(folder, 0o700);
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
