import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { files, read, root } from "./workspace.ts";

const GENERATE = "Run `npm run gen` and commit what changes";

describe("the contracts are what buf makes of proto/", () => {
  const committed = "packages/contracts/src/gen";
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "unigate-gen-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("file by file", { timeout: 60_000 }, () => {
    const template = parse(read("proto/buf.gen.yaml")) as { version: string; plugins: { local: string; out: string; opt: string[] }[] };
    const plugins = template.plugins.map((plugin) => ({ ...plugin, local: join(root, "proto", plugin.local), out: folder }));
    const made = spawnSync(join(root, "node_modules/.bin/buf"), ["generate", "--template", JSON.stringify({ ...template, plugins })], {
      cwd: join(root, "proto"),
      encoding: "utf8",
    });
    expect(made.stderr).toBe("");
    expect(made.status).toBe(0);
    const fresh = Object.fromEntries(filesBelow(folder).map((file) => [relative(folder, file), readFileSync(file, "utf8")]));
    const found = Object.fromEntries(
      filesBelow(join(root, committed)).map((file) => [relative(join(root, committed), file), readFileSync(file, "utf8")]),
    );
    expect(Object.keys(found).sort(), GENERATE).toEqual(Object.keys(fresh).sort());
    const stale = Object.keys(fresh).filter((name) => fresh[name] !== found[name]);
    expect(stale, GENERATE).toEqual([]);
  });

  test("every proto file has its message and service definitions", () => {
    const protos = files.filter((file) => file.endsWith(".proto")).map((file) => file.replace(/^proto\//, "").replace(/\.proto$/, ".ts"));
    expect(protos.length).toBeGreaterThan(0);
    for (const name of protos) expect(files, GENERATE).toContain(`${committed}/${name}`);
  });
});

describe("a registry names every folder that exports something by default", () => {
  test.each(["providers", "checks"])("packages/%s", (name) => {
    const source = `packages/${name}/src`;
    const folders = files
      .filter((file) => new RegExp(`^${source}/[^/]+/index\\.ts$`).test(file) && /^export default\b/m.test(read(file)))
      .map((file) => file.split("/").at(-2) ?? "")
      .sort();
    const text = read(`${source}/registry.generated.ts`);
    const imported = new Map(
      [...text.matchAll(/^import (\w+) from "\.\/([^/"]+)\/index\.ts";$/gm)].map(([, local = "", folder = ""]) => [folder, local]),
    );
    expect(folders.length).toBeGreaterThan(0);
    expect([...imported.keys()].sort(), GENERATE).toEqual(folders);
    const listed = /= \[([^\]]*)\]/.exec(text)?.[1]?.match(/\w+/g) ?? [];
    expect(listed.toSorted(), GENERATE).toEqual([...imported.values()].sort());
  });
});

test("the chart's table of values and its schema of settings", () => {
  const script = join(root, "packages/tooling/chart.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  expect(stderr, GENERATE).toBe("");
  expect(status, GENERATE).toBe(0);
});

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
