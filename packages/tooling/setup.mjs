// Makes a fresh clone runnable with nothing but Node and npm: installs with the pinned pnpm, then builds.
// A second run with nothing changed does nothing but ask the compiler.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const stampFile = join(root, "node_modules/.unigate-installed");

/** Runs a command, showing its output only when it fails or takes its time to say something worth seeing. */
function run(title, command, args) {
  const started = Date.now();
  process.stderr.write(`${title} ... `);
  const result = spawnSync(command, args, { cwd: root, encoding: "utf8", shell: process.platform === "win32" });
  if (result.status !== 0) {
    process.stderr.write(`failed\n${result.stdout ?? ""}${result.stderr ?? ""}${result.error?.message ?? ""}\n`);
    process.exit(1);
  }
  process.stderr.write(`${((Date.now() - started) / 1000).toFixed(1)} s\n`);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  process.stderr.write(`Unigate needs Node 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}

function installStamp() {
  const hash = createHash("sha256").update(process.versions.node.split(".")[0]);
  for (const file of ["pnpm-lock.yaml", "package.json", "pnpm-workspace.yaml"]) hash.update(readFileSync(join(root, file)));
  return hash.digest("hex");
}

checkNode();
const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const stamp = installStamp();
if (!existsSync(stampFile) || readFileSync(stampFile, "utf8") !== stamp) {
  run("Installing packages", "npm", ["exec", "--yes", `--package=${packageManager}`, "--", "pnpm", "install", "--frozen-lockfile"]);
  writeFileSync(stampFile, stamp);
}
run("Building", process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-b"]);
run("Bundling", process.execPath, [join(root, "packages/tooling/bundle.mjs")]);
