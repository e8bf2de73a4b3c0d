import { mkdtemp, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { removeFolder } from "@unigate/testkit";
import { pause } from "./pause.ts";

const EVERY_MS = 5;
const NANOSECONDS = 1_000_000;
const LINE = Buffer.alloc(1_000, "x");

/** How long this machine lets a process wait, to run or for a file, from now on. To be asked once. */
export function measureLag(): { worstMs(): number } {
  const delays = monitorEventLoopDelay({ resolution: EVERY_MS });
  delays.enable();
  let [isOver, slowest, begunAt] = [false, 0, 0];

  /** Makes a file, writes, and begins anew: what a spool does, which a look at a file would not show. */
  async function useFiles(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "unigate-lag-"));
    for (let number = 0; !isOver; number++) {
      begunAt = performance.now();
      const file = await open(join(folder, String(number % 100)), "w");
      await file.write(LINE);
      slowest = Math.max(slowest, performance.now() - begunAt);
      begunAt = 0;
      await file.close();
      await pause(EVERY_MS);
    }
    removeFolder(folder);
  }
  useFiles().catch((error: unknown) => process.stderr.write(`what files cost was not measured: ${String(error)}\n`));

  return {
    worstMs() {
      delays.disable();
      isOver = true;
      const underWay = begunAt === 0 ? 0 : performance.now() - begunAt;
      return Math.ceil(Math.max(delays.max / NANOSECONDS, slowest, underWay));
    },
  };
}
