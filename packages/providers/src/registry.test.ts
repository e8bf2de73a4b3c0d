import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Provider } from "./define.ts";
import { findProvider, providers } from "./registry.ts";

const source = fileURLToPath(new URL(".", import.meta.url));

function namesIn(folder: string): string[] {
  return readdirSync(new URL(folder, import.meta.url));
}

/** Folders that hold a provider: those with an index.ts that are no shared part. */
const folders = readdirSync(source, { withFileTypes: true })
  .filter(
    (entry) => entry.isDirectory() && entry.name !== "auth" && entry.name !== "shapes" && namesIn(`./${entry.name}`).includes("index.ts"),
  )
  .map((entry) => entry.name);

describe("the folder is the registry", () => {
  test("every folder is registered", () => {
    expect(providers.map((provider) => provider.id).sort()).toEqual(folders.sort());
  });

  test.each(folders)("%s is complete", async (folder) => {
    const provider = ((await import(`./${folder}/index.ts`)) as { default: Provider }).default;
    expect(provider.id).toBe(folder);
    expect(provider.title).not.toBe("");
    expect(provider.surfaces.chat).toBeDefined();
    expect(provider.models.length).toBeGreaterThan(0);
    expect(new Set(provider.models).size).toBe(provider.models.length);
    expect(namesIn(`./${folder}`)).toContain("__fixtures__");
    expect(namesIn(`./${folder}/__fixtures__`)).toEqual(expect.arrayContaining(["chat.json", "chat-stream.json", "error.json"]));
  });

  test.each(providers)("$id has a usable address and key", (provider) => {
    if (provider.baseUrl !== null) {
      const url = new URL(provider.baseUrl);
      expect(["https:", "http:"]).toContain(url.protocol);
      expect(provider.baseUrl.endsWith("/")).toBe(false);
      expect(url.search + url.hash + url.username).toBe("");
    }
    if (provider.envKey !== null) expect(provider.envKey).toMatch(/^[A-Z][A-Z0-9_]*$/);
    expect(provider.keyless || provider.auth.fields.length > 0).toBe(true);
  });
});

test("no name means two providers", () => {
  const names = providers.flatMap((provider) => [provider.id, ...provider.aliases]);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

test("a provider is found by id and by alias, and by nothing else", () => {
  for (const provider of providers) for (const name of [provider.id, ...provider.aliases]) expect(findProvider(name)).toBe(provider);
  expect(findProvider("together")?.id).toBe("together-ai");
  for (const name of ["", "OpenAI", "constructor", "__proto__", "nobody"]) expect(findProvider(name)).toBeUndefined();
});
