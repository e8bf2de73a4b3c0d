import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A disk of 1 MiB in memory, to be filled or made read-only. */
export interface SmallDisk {
  /** Where it is mounted. */
  readonly path: string;
  writable(can: boolean): void;
  remove(): Promise<void>;
}

/** Whether this process may mount one: on Linux, as root. Says so when it may not. */
export function canMountSmallDisk(): boolean {
  if (process.platform === "linux" && process.getuid?.() === 0 && mounts()) return true;
  process.stdout.write("skipped without the right to mount a small tmpfs: a full and a read-only disk\n");
  return false;
}

export async function mountSmallDisk(): Promise<SmallDisk> {
  const path = await mkdtemp(join(tmpdir(), "unigate-disk-"));
  asRoot("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path);
  return {
    path,
    writable: (can) => asRoot("mount", "-o", can ? "remount,rw" : "remount,ro", path),
    async remove() {
      asRoot("umount", "--lazy", path);
      await rm(path, { recursive: true, force: true });
    },
  };
}

function asRoot(program: string, ...words: string[]): void {
  execFileSync(program, words, { stdio: "ignore" });
}

function mounts(): boolean {
  try {
    asRoot("unshare", "--mount", "true");
    return true;
  } catch {
    return false;
  }
}
