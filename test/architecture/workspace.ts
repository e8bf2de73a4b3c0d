import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the whole project. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Folders that hold nothing written by us. */
const NOT_OURS = new Set(["node_modules", "dist", "bin", "coverage", ".git", ".unigate"]);

/** A package of the workspace. */
export interface Package {
  /** "packages/core", "services/edge", "test". */
  readonly folder: string;
  readonly name: string;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

/** Every file of ours, as a path from the root with "/". */
export const files: readonly string[] = filesIn(root);

export const packages: readonly Package[] = [...foldersIn("packages"), ...foldersIn("services"), "test"].map(readPackage);

/** Sources in TypeScript or JavaScript, tests and generated ones included. */
export const sources: readonly string[] = files.filter((file) => /\.(?:ts|tsx|mts|mjs|js)$/.test(file));

export function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

export function readJson(file: string): Record<string, unknown> {
  return JSON.parse(read(file)) as Record<string, unknown>;
}

export function exists(file: string): boolean {
  return existsSync(join(root, file));
}

/** "packages/core" of "packages/core/src/json.ts"; "" of a file that is in no package. */
export function packageOf(file: string): string {
  return packages.find(({ folder }) => file.startsWith(`${folder}/`))?.folder ?? "";
}

/** Tests and what only tests use: never part of the product. */
export function isTest(file: string): boolean {
  return /\.(?:test(?:-d)?|fixture)\.ts$/.test(file) || file.startsWith("test/") || file.startsWith("packages/testkit/");
}

export function isGenerated(file: string): boolean {
  return file.includes("/src/gen/") || file.endsWith(".generated.ts");
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesIn(path);
    return entry.isFile() && !entry.name.endsWith(".tsbuildinfo") ? [relative(root, path).split(sep).join("/")] : [];
  });
}

function foldersIn(parent: string): string[] {
  return readdirSync(join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, parent, entry.name, "package.json")))
    .map((entry) => `${parent}/${entry.name}`);
}

function readPackage(folder: string): Package {
  const json = readJson(`${folder}/package.json`);
  return {
    folder,
    name: String(json["name"]),
    dependencies: Object.keys(json["dependencies"] ?? {}),
    devDependencies: Object.keys(json["devDependencies"] ?? {}),
  };
}
