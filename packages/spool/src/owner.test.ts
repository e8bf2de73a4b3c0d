import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { claimAbandoned } from "./adopt.ts";
import { isAbandoned, type OwnFolder, ownFolder } from "./owner.ts";

const QUIET = 60_000;

let dir = "";
let owners: OwnFolder[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "unigate-spool-"));
});
afterEach(async () => {
  await Promise.all(owners.map((one) => one.release()));
  owners = [];
  await rm(dir, { recursive: true, force: true });
});

async function living(id: string): Promise<OwnFolder> {
  const own = ownFolder(dir, id);
  owners.push(own);
  await own.ensure();
  return own;
}

/** A folder whose owner was killed: it listens no more, and said nothing. */
async function dead(id: string): Promise<void> {
  const script = `
    const { createServer } = require("node:net"), { mkdirSync, writeFileSync, readFileSync } = require("node:fs"), { hostname } = require("node:os");
    let machine; try { machine = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(); } catch { machine = hostname(); }
    createServer().listen(process.argv[1] + ".lock", () => {
      mkdirSync(process.argv[1]);
      writeFileSync(process.argv[1] + "/owner", JSON.stringify({ machine, pid: process.pid, socket: true, closed: false }));
      process.kill(process.pid, "SIGKILL");
    });`;
  const child = spawn(process.execPath, ["-e", script, join(dir, id)], { stdio: "ignore" });
  const signal = await new Promise((resolve) => child.once("exit", (_, by) => resolve(by)));
  expect(signal).toBe("SIGKILL");
}

const abandoned = (id: string) => isAbandoned(dir, id, Date.now(), QUIET);

describe("who owns a folder", () => {
  test("one that lives does, one that was killed does not, one that ended in good order does not", async () => {
    const own = await living("a");
    expect(await abandoned("a")).toBe(false);
    await dead("b");
    expect((await readdir(dir)).sort()).toEqual(["a", "a.lock", "b", "b.lock"]);
    expect(await abandoned("b")).toBe(true);
    await own.release();
    expect(await abandoned("a")).toBe(true);
  });

  test("is made once, however many want it at once", async () => {
    for (let index = 0; index < 20; index++) {
      const own = ownFolder(dir, `many-${index}`);
      owners.push(own);
      await Promise.all([own.ensure(), own.ensure(), own.ensure()]);
      expect(await readdir(own.path)).toEqual(["owner"]);
    }
  });

  test("a pid that lives says nothing", async () => {
    await dead("b");
    const owner = JSON.parse(await readFile(join(dir, "b", "owner"), "utf8")) as object;
    await writeFile(join(dir, "b", "owner"), JSON.stringify({ ...owner, pid: process.pid }));
    expect(await abandoned("b")).toBe(true);
  });

  test.each([
    ["of another machine", { machine: "another", socket: true }],
    ["without a socket", { socket: false }],
    ["without its lock file", { lock: false }],
    ["that is not said", null],
  ])("an owner %s owns it until it was quiet for long", async (_, change) => {
    await dead("b");
    const folder = join(dir, "b");
    const owner = JSON.parse(await readFile(join(folder, "owner"), "utf8")) as object;
    if (change === null) await rm(join(folder, "owner"));
    else if ("lock" in change) await rm(`${folder}.lock`);
    else await writeFile(join(folder, "owner"), JSON.stringify({ ...owner, ...change }));
    expect(await abandoned("b")).toBe(false);
    const past = new Date(Date.now() - QUIET - 5_000);
    await utimes(folder, past, past);
    expect(await abandoned("b")).toBe(true);
  });

  test("a touch ends the silence, and tells when the folder is gone", async () => {
    const own = await living("a");
    await rm(join(dir, "a.lock"));
    const past = new Date(Date.now() - QUIET - 5_000);
    await utimes(own.path, past, past);
    expect(await own.touch()).toBe(true);
    expect(await abandoned("a")).toBe(false);
    await rm(own.path, { recursive: true });
    expect(await own.touch()).toBe(false);
    await own.ensure();
    expect(await own.touch()).toBe(true);
  });

  test("a path too long for a socket is owned by being touched", async () => {
    const deep = join(dir, "d".repeat(100));
    const own = ownFolder(deep, "a");
    owners.push(own);
    await own.ensure();
    expect(await readdir(deep)).toEqual(["a"]);
    expect(await isAbandoned(deep, "a", Date.now(), QUIET)).toBe(false);
    expect(await isAbandoned(deep, "a", Date.now() + 2 * QUIET, QUIET)).toBe(true);
  });
});

describe("taking a folder over", () => {
  test("of many that want it one gets it", async () => {
    await dead("b");
    await writeFile(join(dir, "b", "00000001.segment"), "x");
    const wanting = await Promise.all(["w1", "w2", "w3", "w4"].map((id) => living(id)));
    const taken = await Promise.all(wanting.map((own) => claimAbandoned(dir, own, Date.now(), QUIET)));
    expect(taken.flat()).toHaveLength(1);
    expect(await readdir(taken.flat()[0] ?? "")).toContain("00000001.segment");
    expect((await readdir(dir)).filter((name) => name.startsWith("b"))).toEqual([]);
    for (const own of wanting) expect(await claimAbandoned(dir, own, Date.now(), QUIET)).toEqual([]);
  });

  test("with it come the folders that it had taken, none nested deeper", async () => {
    await dead("b");
    await mkdir(join(dir, "b", "c", "d"), { recursive: true });
    const own = await living("a");
    const taken = await claimAbandoned(dir, own, Date.now(), QUIET);
    expect(taken.sort()).toEqual(["b", "c", "d"].map((id) => join(own.path, id)));
    expect((await readdir(own.path)).sort()).toEqual(["b", "c", "d", "owner"]);
    expect(await readdir(join(own.path, "c"))).toEqual([]);
  });

  test("no folder at all, nothing to take", async () => {
    const missing = join(dir, "missing");
    expect(await claimAbandoned(missing, ownFolder(missing, "a"), Date.now(), QUIET)).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });
});
