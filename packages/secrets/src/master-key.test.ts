import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadOrMakeMasterKey, parseMasterKey } from "./master-key.ts";

const key = randomBytes(32);

describe("parseMasterKey", () => {
  test.each([
    ["base64", key.toString("base64")],
    ["base64 without padding", key.toString("base64").slice(0, 43)],
    ["base64url", key.toString("base64url")],
    ["hex", key.toString("hex")],
    ["upper-case hex", key.toString("hex").toUpperCase()],
    ["with white space around it", ` ${key.toString("base64")}\n`],
  ])("reads %s", (_case, text) => {
    expect(parseMasterKey(text)).toEqual(key);
  });

  test.each(["", "short", key.toString("hex").slice(1), `${key.toString("base64")}=`, "g".repeat(64)])(
    "refuses %j without repeating it",
    (text) => {
      expect(() => parseMasterKey(text)).toThrow(
        `UNIGATE_MASTER_KEY must be 32 bytes as base64 (44 characters) or hex (64 characters); it has ${text.length} characters`,
      );
    },
  );
});

describe("loadOrMakeMasterKey", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "unigate-master-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  test("makes a key that only the owner may read, and finds it again", async () => {
    const file = join(folder, "deep", "master.key");
    const made = await loadOrMakeMasterKey(file);
    expect(made).toHaveLength(32);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await loadOrMakeMasterKey(file)).toEqual(made);
    expect(await readdir(join(folder, "deep"))).toEqual(["master.key"]);
  });

  test("all who start at once get the same key", async () => {
    const file = join(folder, "master.key");
    const keys = await Promise.all(Array.from({ length: 8 }, () => loadOrMakeMasterKey(file)));
    expect(new Set(keys.map((made) => made.toString("hex"))).size).toBe(1);
    expect(await readdir(folder)).toEqual(["master.key"]);
  });

  test("closes a file that others may read", async () => {
    const file = join(folder, "master.key");
    await writeFile(file, key.toString("hex"));
    await chmod(file, 0o644);
    expect(await loadOrMakeMasterKey(file)).toEqual(key);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test("a damaged file is an error that names it, and stays as it is", async () => {
    const file = join(folder, "master.key");
    await writeFile(file, "half a ke");
    await expect(loadOrMakeMasterKey(file)).rejects.toThrow(`${file} must be 32 bytes`);
    expect(await readFile(file, "utf8")).toBe("half a ke");
  });
});
