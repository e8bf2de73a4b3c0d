import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

// An image is a gzipped row of entries: the length of a JSON header (4 bytes), the header, the content it announces.

interface Entry {
  readonly path: string;
  /** Bytes; null for a folder. */
  readonly size: number | null;
}

/** Packs a closed database folder into one file, which is whole or not there. */
export function writeImage(folder: string, file: string): void {
  const pieces = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.name !== "postmaster.pid")
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFolder: entry.isDirectory() }))
    .sort((one, other) => (one.path < other.path ? -1 : 1))
    .flatMap(({ path, isFolder }) => {
      const content = isFolder ? null : readFileSync(path);
      const header = Buffer.from(JSON.stringify({ path: relative(folder, path), size: content?.length ?? null } satisfies Entry));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(header.length);
      return content === null ? [length, header] : [length, header, content];
    });
  mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}.${randomBytes(4).toString("hex")}`;
  writeFileSync(draft, gzipSync(Buffer.concat(pieces), { level: 9 }));
  renameSync(draft, file);
}

/** Makes `folder` from an image: all of it, or nothing. Takes 0.1 s and waits for the disk: not for the main thread. */
export function unpackImage(file: string, folder: string): void {
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  try {
    unpackInto(draft, gunzipSync(readFileSync(file)));
  } catch (error) {
    // On a full disk nothing must stay of it.
    rmSync(draft, { recursive: true, force: true });
    throw error;
  }
  renameSync(draft, folder);
}

function unpackInto(folder: string, bytes: Buffer): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (let at = 0; at < bytes.length; ) {
    const start = at + 4 + bytes.readUInt32BE(at);
    const { path, size } = JSON.parse(bytes.toString("utf8", at + 4, start)) as Entry;
    if (size === null) mkdirSync(join(folder, path), { recursive: true, mode: 0o700 });
    else writeFileSync(join(folder, path), bytes.subarray(start, start + size), { mode: 0o600 });
    at = start + (size ?? 0);
  }
}
