import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** Replaces a file (mode 0600) by one that is whole or not there at all, also after a power loss. The text may come in pieces. */
export async function writeAtomic(file: string, text: string | Iterable<string>): Promise<void> {
  const folder = dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      for (const piece of typeof text === "string" ? [text] : text) await handle.writeFile(piece);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (reason) {
    await rm(draft, { force: true });
    throw reason;
  }
  await syncFolder(folder);
}

/** Makes the rename itself durable. Some file systems cannot; then it is as durable as they make it. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } catch {
    // EINVAL or EPERM: folders cannot be synced here.
  } finally {
    await handle.close();
  }
}
