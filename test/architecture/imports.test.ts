import { describe, expect, test } from "vitest";
import { importsOf } from "./imports.ts";
import { isTest, packageOf, packages, read, sources } from "./workspace.ts";

/** Which packages of the workspace each layer may import. "*" = every package, but no service. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  "packages/core": [],
  "packages/rpc": ["core"],
  "packages/contracts": ["core", "rpc"],
  "packages/runtime": ["core"],
  "packages/http": ["core"],
  "packages/providers": ["core", "http"],
  "packages/checks": ["core"],
  "packages/storage": ["core"],
  "packages/sql": ["core"],
  "packages/events": ["core"],
  "packages/spool": ["core", "contracts", "events"],
  "packages/traces": ["core", "contracts", "events"],
  "packages/kafka": ["core", "contracts", "events", "traces"],
  "packages/prices": ["core"],
  "packages/secrets": ["core", "contracts"],
  "packages/resolve": ["core", "contracts", "rpc"],
  "packages/console": ["contracts"],
  "packages/testkit": ["*"],
  "packages/tooling": [],
};

/** Third-party packages that exactly one of ours may know, so that it can be replaced in one place. */
const OWNERS: Readonly<Record<string, string>> = {
  "@grpc/grpc-js": "packages/rpc",
  "grpc-health-check": "packages/rpc",
  "@bufbuild/protobuf": "packages/contracts",
  ioredis: "packages/storage",
  pg: "packages/sql",
  kysely: "packages/sql",
  "@electric-sql/pglite": "packages/sql",
  kafkajs: "packages/kafka",
  "@pydantic/genai-prices": "packages/prices",
  undici: "packages/http",
  express: "services/edge",
  pino: "packages/runtime",
  "prom-client": "packages/runtime",
};

const ours = packages.map(({ name }) => name);
const services = packages.filter(({ folder }) => folder.startsWith("services/")).map(({ name }) => name);
const product = sources.filter((file) => !isTest(file));

/** "file imports name" for every import that breaks a rule. */
function offences(files: readonly string[], isWrong: (name: string, file: string) => boolean): string[] {
  return files.flatMap((file) =>
    importsOf(file)
      .filter((name) => isWrong(name, file))
      .map((name) => `${file} imports ${name}`),
  );
}

test("every package has a place among the layers", () => {
  const unknown = packages.map(({ folder }) => folder).filter((folder) => folder.startsWith("packages/") && LAYERS[folder] === undefined);
  expect(unknown, "Add the package to LAYERS above, with the packages that it may import").toEqual([]);
});

describe("a layer imports only what is below it", () => {
  const layers = packages.map(({ folder }) => folder).filter((folder) => folder.startsWith("packages/"));

  test.each(layers)("%s", (layer) => {
    const allowed = (LAYERS[layer] ?? []).map((name) => (name === "*" ? name : `@unigate/${name}`));
    const files = product.filter((file) => packageOf(file) === layer);
    const bad = offences(
      files,
      (name) => name.startsWith("@unigate/") && !allowed.includes(name) && !(allowed.includes("*") && !services.includes(name)),
    );
    expect(bad, `${layer} may import ${allowed.join(", ") || "no other package"}. Move the code to the layer that needs both`).toEqual([]);
  });
});

test("no service imports another one; only services/unigate puts them together", () => {
  const files = sources.filter((file) => !file.startsWith("services/unigate/") && !file.startsWith("test/"));
  const bad = offences(
    files,
    (name, file) => services.includes(name) && packages.find((one) => one.name === name)?.folder !== packageOf(file),
  );
  expect(bad, "Call the other service through its port: declare it in the deps, and let services/unigate connect them").toEqual([]);
  expect(offences(sources, (name, file) => name === "@unigate/unigate" && !file.startsWith("test/"))).toEqual([]);
});

test("testkit is for tests only", () => {
  expect(
    offences(product, (name) => name === "@unigate/testkit"),
    "Move the code into a *.test.ts, or out of testkit",
  ).toEqual([]);
});

describe("a third-party package has one owner", () => {
  test.each(Object.entries(OWNERS))("%s only in %s", (name, owner) => {
    const bad = offences(product, (imported, file) => imported === name && packageOf(file) !== owner);
    expect(bad, `Only ${owner} may know ${name}: use what ${owner} exports, or add it there`).toEqual([]);
  });
});

test("what is imported is of Node by its full name, of the workspace, or a declared dependency", () => {
  const declared = new Set(packages.flatMap(({ dependencies, devDependencies }) => [...dependencies, ...devDependencies]));
  const root = Object.keys((JSON.parse(read("package.json")) as { devDependencies: object }).devDependencies);
  const known = new Set([...declared, ...root, ...ours]);
  expect(
    offences(sources, (name) => !known.has(name)),
    'Write "node:fs" for "fs"; declare other packages in package.json',
  ).toEqual([]);
});

test("nothing is imported from below a package of ours, or out of a package by a path", () => {
  const bad = sources.flatMap((file) => {
    const depth = file.split("/").length - 1 - (packageOf(file) === "" ? 0 : packageOf(file).split("/").length);
    return [...read(file).matchAll(/\bfrom\s+"(@unigate\/[^"/]+\/[^"]+|(?:\.\.\/)+[^"]*)"/g)]
      .map(([, name = ""]) => name)
      .filter((name) => !name.startsWith(".") || name.split("../").length - 1 > depth)
      .map((name) => `${file} imports ${name}`);
  });
  expect(bad, "Import the package by its name; what is missing in its index.ts is added there").toEqual([]);
});

test("the process environment and command line are read in packages/runtime only", () => {
  const reader = new RegExp(`\\bprocess\\.(?:${["env", "argv"].join("|")})\\b`);
  const bad = product.filter(
    (file) => !/^(?:packages\/(?:runtime|tooling)|deploy)\//.test(file) && !file.endsWith(".config.ts") && reader.test(read(file)),
  );
  expect(bad, "Take the value from Settings (packages/runtime/src/setting-specs.ts), or as a parameter").toEqual([]);
});
