// A program: makes the image of an empty database, beside the build, or where the process that started it says. It is a
// process of its own because PGlite's initdb needs 800 MB for some seconds, which a thread would not give back.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { BUILT_IMAGE } from "./folder.ts";
import { writeImage } from "./image.ts";
import { INITDB_PARAMETERS, START_PARAMETERS } from "./initdb.ts";

if (process.send === undefined) void run(BUILT_IMAGE);
else process.once("message", (file: string) => void run(file).then(() => process.disconnect()));

async function run(file: string): Promise<void> {
  try {
    await make(file);
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    process.exitCode = 1;
  }
}

async function make(file: string): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "unigate-initdb-"));
  try {
    const folder = join(scratch, "data");
    const database = await PGlite.create(folder, {
      initDbStartParams: [...INITDB_PARAMETERS],
      startParams: [...PGlite.defaultStartParams, ...START_PARAMETERS],
    });
    // Databases that no other is ever made from: two thirds of the files.
    await database.query("update pg_database set datistemplate = false");
    for (const name of ["template0", "template1"]) await database.query(`drop database ${name}`);
    await database.close();
    writeImage(folder, file);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
