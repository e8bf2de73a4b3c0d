import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checks } from "./registry.generated.ts";
import { findCheck } from "./registry.ts";

const folders = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name);

test("every folder is registered, once", () => {
  expect(checks.length).toBe(folders.length);
  expect(new Set(checks.map((check) => check.id)).size).toBe(folders.length);
});

describe.each(folders)("%s", (folder) => {
  test("has a check whose id is the folder's name", () => {
    const name = folder.replaceAll(/-(.)/g, (_match, letter: string) => letter.toUpperCase());
    const check = findCheck(name);
    expect(check?.id).toBe(`default.${name}`);
    expect(findCheck(`default.${name}`)).toBe(check);
    expect(check?.phases.length).toBeGreaterThan(0);
  });

  test("has a test", () => {
    expect(readdirSync(`${import.meta.dirname}/${folder}`)).toContain("index.test.ts");
  });
});

test("an unknown id finds nothing", () => {
  expect(findCheck("default.nothing")).toBeNull();
  expect(findCheck("other.contains")).toBeNull();
});
