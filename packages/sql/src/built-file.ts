import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/**
 * Where a file of this package's build is, also when the caller runs from source or from a bundle: a thread cannot load
 * TypeScript, and a program of its own is in no bundle.
 */
export function builtFile(name: string): string {
  const manifest = createRequire(import.meta.url).resolve("@unigate/sql/package.json");
  return join(dirname(manifest), "dist", name);
}
