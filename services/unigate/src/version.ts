import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The version of this build. */
export const version: string = readVersion();

function readVersion(): string {
  const file = fileURLToPath(new URL("../package.json", import.meta.url));
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
