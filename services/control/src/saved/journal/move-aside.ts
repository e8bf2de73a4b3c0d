import { copyFile, link, open } from "node:fs/promises";

/** Keeps a damaged file under another name, beside the one that takes its place. Gives that name. */
export async function moveAside(file: string, now: number): Promise<string> {
  for (let at = now; ; at += 1) {
    const name = `${file}.broken-${new Date(at).toISOString().replace(/[:.]/g, "-")}`;
    try {
      // The name of the journal itself is never free: the next start would take it for a first one.
      await link(file, name);
      return name;
    } catch (reason) {
      if (isCode(reason, "EEXIST")) continue;
      await copyWhole(file, name);
      return name;
    }
  }
}

/** For file systems without links. */
async function copyWhole(file: string, name: string): Promise<void> {
  await copyFile(file, name);
  const handle = await open(name, "r+");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function isCode(reason: unknown, code: string): boolean {
  return reason instanceof Error && "code" in reason && reason.code === code;
}
