// Regenerates everything that is generated and committed: contracts from proto/, the provider registry from its folders,
// the chart's table of values and its schema of settings.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const bin = (name) => join(root, "node_modules/.bin", name);

function run(command, args, cwd) {
  const result = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (result.status !== 0) process.exit(result.status ?? 1);
}

function genContracts() {
  const out = join(root, "packages/contracts/src/gen");
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  run(bin("buf"), ["generate"], join(root, "proto"));
}

/** One import and one list entry a folder of packages/<pkg>/src that holds an index.ts. */
function genRegistry(pkg, skip, constant, type) {
  const source = join(root, "packages", pkg, "src");
  const names = readdirSync(source, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !skip.includes(entry.name) && existsSync(join(source, entry.name, "index.ts")))
    .map((entry) => entry.name)
    .sort();
  const local = (name) => name.replace(/[^a-zA-Z0-9]+(.)?/g, (_, next) => (next ?? "").toUpperCase()).replace(/^(\d)/, "_$1");
  writeFileSync(
    join(source, "registry.generated.ts"),
    [
      "// Made by `pnpm gen` from the folders beside this file. Do not edit.",
      ...names.map((name) => `import ${local(name)} from "./${name}/index.ts";`),
      `import type { ${type} } from "./define.ts";`,
      "",
      `export const ${constant}: readonly ${type}[] = [`,
      ...names.map((name) => `  ${local(name)},`),
      "];",
      "",
    ].join("\n"),
  );
}

genContracts();
genRegistry("providers", ["shapes", "auth", "vendors"], "providers", "Provider");
genRegistry("checks", [], "checks", "Check");
run(process.execPath, [join(root, "packages/tooling/chart.mjs")], root);
run(
  bin("biome"),
  [
    "check",
    "--write",
    "--log-level=error",
    "packages/providers/src/registry.generated.ts",
    "packages/checks/src/registry.generated.ts",
    "helm/unigate/README.md",
    "helm/unigate/values.schema.json",
  ],
  root,
);
