import { posix } from "node:path";
import { describe, expect, test } from "vitest";
import { importsOf } from "./imports.ts";
import { exists, files, isTest, packageOf, packages, read, readJson, sources } from "./workspace.ts";

/** Of the root package.json: there for every package. */
const EVERYWHERE = new Set(["vitest", ...Object.keys(readJson("package.json")["devDependencies"] as object)]);
const built = packages.filter(({ folder }) => exists(`${folder}/tsconfig.json`) && folder !== "test");

function imported(folder: string, which: (file: string) => boolean): Set<string> {
  const found = sources.filter((file) => packageOf(file) === folder && which(file)).flatMap(importsOf);
  return new Set(found.filter((name) => !EVERYWHERE.has(name)));
}

/** Types of a package that is itself imported are used without an import. */
function isUsed(name: string, used: ReadonlySet<string>): boolean {
  return used.has(name) || EVERYWHERE.has(name) || (name.startsWith("@types/") && used.has(name.slice("@types/".length)));
}

describe.each(packages)("$name declares what it imports", ({ folder, name, dependencies, devDependencies }) => {
  // In test/ and testkit everything is for tests, and everything is a dependency.
  const inProduct = imported(folder, (file) => !isTest(file) || folder === "test" || folder === "packages/testkit");
  const inTests = imported(folder, isTest);
  const declared = new Set([...dependencies, ...devDependencies]);

  test("nothing is missing", () => {
    const missing = [...inProduct].filter((used) => !dependencies.includes(used) && used !== name);
    expect(missing, `Add to "dependencies" of ${folder}/package.json`).toEqual([]);
    const missingInTests = [...inTests].filter((used) => !declared.has(used) && used !== name);
    expect(missingInTests, `Add to "devDependencies" of ${folder}/package.json`).toEqual([]);
  });

  test("nothing is declared in vain", () => {
    expect(
      dependencies.filter((one) => !isUsed(one, inProduct)),
      `Remove from "dependencies" of ${folder}/package.json`,
    ).toEqual([]);
    const vain = devDependencies.filter((one) => dependencies.includes(one) || !isUsed(one, new Set([...inTests, ...inProduct])));
    expect(vain, `Remove from "devDependencies" of ${folder}/package.json`).toEqual([]);
  });

  test("versions come from the workspace and its catalog", () => {
    const json = readJson(`${folder}/package.json`);
    const versions = { ...(json["dependencies"] as object), ...(json["devDependencies"] as object) };
    const other = Object.entries(versions).filter(([, version]) => version !== "workspace:*" && version !== "catalog:");
    expect(other, 'Write "catalog:" and put the version into pnpm-workspace.yaml').toEqual([]);
  });
});

describe("the build knows every package", () => {
  const referenced = (readJson("tsconfig.json")["references"] as { path: string }[]).map(({ path }) => posix.normalize(path));

  test("every package with sources has a tsconfig.json that the root refers to", () => {
    const withSources = packages.filter(({ folder }) => folder !== "test" && exists(`${folder}/src`)).map(({ folder }) => folder);
    expect(
      withSources.filter((folder) => !referenced.includes(folder)),
      "Add the folder to references of tsconfig.json",
    ).toEqual([]);
    expect(
      referenced.filter((folder) => !exists(`${folder}/tsconfig.json`)),
      "Remove what is gone from references of tsconfig.json",
    ).toEqual([]);
    expect(new Set(referenced).size).toBe(referenced.length);
  });

  test.each(built)("$folder refers to the packages it depends on, and to no other", ({ folder, dependencies }) => {
    const own = (readJson(`${folder}/tsconfig.json`)["references"] as { path: string }[] | undefined) ?? [];
    const found = own.map(({ path }) => posix.join(folder, path)).sort();
    const expected = packages.filter(({ name }) => dependencies.includes(name)).map((one) => one.folder);
    expect(found, `Write these as references into ${folder}/tsconfig.json`).toEqual(expected.sort());
  });
});

describe("index.ts lists the surface by name", () => {
  test.each(built.map(({ folder }) => folder))("%s", (folder) => {
    const file = `${folder}/src/index.ts`;
    expect(files, `Add ${file}`).toContain(file);
    const text = read(file);
    const stars = text.match(/^export \*.*$/gm) ?? [];
    expect(stars, `Name what ${file} exports; "export type *" is allowed for types only`).toEqual([]);
    const other = text.split("\n").filter((line) => /^(?:const|let|function|class|async)\b/.test(line));
    expect(other, `${file} only lists; put the code into a file of its own`).toEqual([]);
  });

  test.each(built.map(({ folder }) => folder))("%s exports nothing but its index", (folder) => {
    // By its manifest a bundle finds the folder of a package.
    const { "./package.json": manifest = "./package.json", ...rest } = readJson(`${folder}/package.json`)["exports"] as Record<
      string,
      unknown
    >;
    expect(manifest).toBe("./package.json");
    expect(rest).toEqual({
      ".": { "unigate:source": "./src/index.ts", types: "./dist/index.d.ts", default: "./dist/index.js" },
    });
  });
});

test("every package is private, of this licence and of one version", () => {
  const version = readJson("package.json")["version"];
  for (const { folder, name } of packages) {
    const json = readJson(`${folder}/package.json`);
    expect(json, folder).toMatchObject({ private: true, license: "Apache-2.0", version, type: "module" });
    expect(name).toBe(folder === "test" ? "@unigate/test" : `@unigate/${posix.basename(folder)}`);
  }
});
