import { stat } from "node:fs/promises";

/**
 * Calls `onChange` when `look` finds another mark than `mark`. A file that changes is left alone until two looks in a
 * row find it the same: half a file is not read. Returns how to stop.
 */
export function pollFile(look: () => Promise<string>, mark: string, everyMs: number, onChange: () => Promise<unknown>): () => void {
  let [settled, last] = [mark, mark];
  let looking = false;

  async function compare(): Promise<void> {
    const found = await look();
    const steady = found === last;
    last = found;
    if (!steady || found === settled) return;
    settled = found;
    await onChange();
  }

  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    void compare().finally(() => {
      looking = false;
    });
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/**
 * What tells a file from another one at the same path: inode, size and time, links followed, so that edits, renames
 * into place and mounted config maps are all told. "missing" when it cannot be looked at.
 */
export async function markOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch {
    return "missing";
  }
}
