import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownDataDir } from "./data-dir.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "unigate-data-dir-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The socket that a killed owner leaves behind. */
async function leaveDeadSocket(path: string): Promise<void> {
  const owner = spawn(process.execPath, [
    "-e",
    `process.getBuiltinModule("node:net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`,
  ]);
  await once(owner.stdout, "data");
  owner.kill("SIGKILL");
  await once(owner, "exit");
}

describe("the data folder", () => {
  test("has one owner at a time, whose pid the second is told", async () => {
    const first = await ownDataDir(folder);
    await expect(ownDataDir(folder)).rejects.toThrow(`is in use by process ${process.pid}`);
    await first.release();
    const second = await ownDataDir(folder);
    await second.release();
    expect(statSync(join(folder, "run")).mode & 0o777).toBe(0o700);
  });

  test("many starts at once after a crash: one becomes the owner", async () => {
    mkdirSync(join(folder, "run"));
    await leaveDeadSocket(join(folder, "run", "o1.sock"));
    for (let round = 0; round < 20; round++) {
      const starts = await Promise.allSettled(Array.from({ length: 6 }, () => ownDataDir(folder)));
      const owners = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
      expect(owners).toHaveLength(1);
      await owners[0]?.release();
    }
    expect(readdirSync(join(folder, "run")).length).toBeLessThan(4);
  });

  test("may have a path longer than a socket's", async () => {
    const deep = join(folder, "a".repeat(120));
    const owner = await ownDataDir(deep);
    await expect(ownDataDir(deep)).rejects.toThrow("is in use");
    await owner.release();

    expect(owner.run.startsWith(deep)).toBe(false);
    chmodSync(owner.run, 0o777);
    const again = await ownDataDir(deep);
    await again.release();
    expect([again.run, statSync(again.run).mode & 0o777]).toEqual([owner.run, 0o700]);
    rmSync(owner.run, { recursive: true });
  });
});
