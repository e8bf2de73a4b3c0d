import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder, requirement } from "@unigate/testkit";
import { run } from "./docker.ts";
import { IMAGE } from "./image.ts";

const UP_MS = 180_000;
const DOWN_MS = 90_000;

/** Compose files, one over the other, under a project name of their own. */
export interface Composed {
  /** What `docker-compose` with these words writes. */
  tell(...words: string[]): Promise<string>;
  up(...words: string[]): Promise<void>;
  /** "http://127.0.0.1:<port>" of one container of a service. */
  origin(service: string, index?: number): Promise<string>;
  /** Takes everything away, volumes as well. */
  down(): Promise<void>;
}

/** Nothing is started yet. `variables` is what stands in the .env of a user. */
export function composed(files: readonly string[], variables: Readonly<Record<string, string>>): Composed {
  let folder = "";
  function environment(): string {
    if (folder === "") folder = folderWith({ UNIGATE_IMAGE: IMAGE, ...variables });
    return join(folder, "env");
  }
  const project = [
    "--project-name",
    `unigate-${process.pid}-${files.join("").replaceAll(/\W/g, "")}`,
    ...files.flatMap((file) => ["--file", `deploy/${file}`]),
  ];
  const compose = (words: readonly string[], deadlineMs?: number): Promise<string> =>
    run(requirement("compose").at, ["--env-file", environment(), ...project, ...words], deadlineMs);
  return {
    tell: (...words) => compose(words),
    async up(...words) {
      await compose(["up", "--detach", "--no-build", ...words], UP_MS);
    },
    async origin(service, index = 1) {
      const place = (await compose(["port", `--index=${index}`, service, "8080"])).trim();
      return `http://127.0.0.1:${place.split(":").at(-1)}`;
    },
    async down() {
      await compose(["down", "--volumes", "--timeout", "1"], DOWN_MS);
      removeFolder(folder);
    },
  };
}

function folderWith(variables: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "unigate-compose-"));
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(folder, "env"), lines.join(""), { mode: 0o600 });
  return folder;
}
