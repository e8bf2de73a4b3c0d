import { read } from "./workspace.ts";

const STATEMENT = /^\s*(?:import|export)\s(?:[^;"'`]*?\sfrom\s)?\s*["']([^"']+)["']/gm;
const CALL = /\b(?:import|require|vi\.mock)\(\s*["']([^"']+)["']/g;

/** What a source imports from elsewhere: package names ("@unigate/core", "undici"), no files and nothing of Node. */
export function importsOf(file: string): string[] {
  const text = read(file);
  const found = [...text.matchAll(STATEMENT), ...text.matchAll(CALL)].map(([, name = ""]) => name);
  return [...new Set(found.filter((name) => !/^(?:\.|node:)/.test(name)).map(packageName))];
}

/** Without the part below the package: "openai" of "openai/streaming". */
function packageName(name: string): string {
  return name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
}
