import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { requirement } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSql, type SqlEngine, type SqlEvent } from "../engine.ts";
import { SqlUnavailable } from "../fault.ts";
import { SchemaError } from "../migrate.ts";
import { runSql } from "../raw.ts";
import { databaseFolder, emptyImage } from "./folder.ts";
import { openFolder } from "./open-folder.ts";
import { startThread } from "./thread.ts";

const LIMITS = { openMs: 30_000, statementMs: 30_000, closeMs: 5_000 };

let dataDir: string;
let events: SqlEvent[];
let engines: SqlEngine[];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "unigate-pglite-"));
  events = [];
  engines = [];
});
afterEach(async () => {
  for (const engine of engines) await engine.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function open(): SqlEngine {
  const engine = openSql({ url: null, dataDir, onEvent: (event) => void events.push(event) });
  engines.push(engine);
  return engine;
}
const count = async (engine: SqlEngine) =>
  (await runSql<{ count: number }>(await engine.database("logs"), "select count(*) as count from thing")).rows[0]?.count;

/** A closed database with a table of ten rows. */
async function filled(): Promise<void> {
  const engine = open();
  const database = await engine.database<unknown>("control");
  await runSql(database, "create table thing as select generate_series(1, 10) as id");
  await engine.close();
  events = [];
}

const embedded = requirement("pglite");
const asides = () => readdirSync(dataDir).filter((name) => name.startsWith("broken-"));
const pglite = (...names: string[]) => join(dataDir, "pglite", ...names);

describe.skipIf(!embedded.available)("the embedded database's folder", () => {
  test("is opened by the first query, kept, and closed as often as one likes", async () => {
    const idle = open();
    await idle.database("logs");
    expect(readdirSync(dataDir)).toEqual([]);
    await filled();
    const engine = open();
    expect(await count(engine)).toBe(10);
    expect(events.map(({ kind }) => kind)).toEqual(["opened"]);
    await engine.close();
    await engine.close();
    await expect(count(engine)).rejects.toThrow("is closed");
  });

  test.each([
    ["its control file is gone", () => rmSync(pglite("global", "pg_control"))],
    ["its control file is cut", () => truncateSync(pglite("global", "pg_control"), 100)],
    ["its control file is rubbish", () => writeFileSync(pglite("global", "pg_control"), Buffer.alloc(8_192, 7))],
    ["it is empty", () => rmSync(pglite(), { recursive: true }) === undefined && mkdirSync(pglite())],
    ["its log is gone", () => rmSync(pglite("pg_wal"), { recursive: true })],
    [
      "its log's files are gone",
      () => readdirSync(pglite("pg_wal")).forEach((name) => rmSync(pglite("pg_wal", name), { recursive: true })),
    ],
    ["its catalogue is cut", () => readdirSync(pglite("base", "5")).forEach((name) => truncateSync(pglite("base", "5", name)))],
  ])("is moved aside and told when %s; an empty one takes its place", { timeout: 60_000 }, async (_, damage) => {
    await filled();
    damage();
    const left = readdirSync(pglite());
    const engine = open();
    await expect(count(engine)).rejects.toThrow("does not exist");
    expect(events.map(({ kind }) => kind)).toEqual(["moved_aside", "opened"]);
    const [event] = events;
    expect(asides()).toHaveLength(1);
    expect(event).toMatchObject({ folder: pglite(), to: join(dataDir, asides()[0] ?? "") });
    // Nothing of what was left of it is lost.
    expect(readdirSync(join(dataDir, asides()[0] ?? ""))).toEqual(expect.arrayContaining(left));
  });

  test("of another PostgreSQL is refused and left alone", async () => {
    await filled();
    writeFileSync(pglite("PG_VERSION"), "18\n");
    const opening = count(open());
    await expect(opening).rejects.toThrow("was written by PostgreSQL 18, and this program has PostgreSQL 17");
    await expect(opening).rejects.toBeInstanceOf(SchemaError);
    expect([asides(), events]).toEqual([[], []]);
  });

  test("is left alone when not even an empty one can be opened beside it", async () => {
    await filled();
    rmSync(pglite("global", "pg_control"));
    const before = readdirSync(pglite());
    const file = join(dataDir, "file");
    writeFileSync(file, "");
    const folder = { ...databaseFolder(dataDir), spare: join(file, "spare") };
    const opening = openFolder(
      folder,
      LIMITS,
      (event) => void events.push(event),
      () => {},
    );
    await expect(opening).rejects.toThrow(
      /cannot be opened \(files of the database are missing\), and neither can an empty one.*Nothing was changed/,
    );
    expect([asides(), events, readdirSync(pglite())]).toEqual([[], [], before]);
  });

  test("is not there at all when its image is damaged", async () => {
    const whole = readFileSync(await emptyImage(databaseFolder(dataDir)));
    const image = join(dataDir, "cut.image");
    writeFileSync(image, whole.subarray(0, whole.length >>> 1));
    await expect(startThread({ folder: pglite(), image }, LIMITS, () => {})).rejects.toThrow("unexpected end of file");
    expect(existsSync(pglite())).toBe(false);
  });

  test("half made by a start that died is made again", async () => {
    mkdirSync(join(dataDir, "pglite.draft", "base"), { recursive: true });
    mkdirSync(join(dataDir, "pglite.spare", "base"), { recursive: true });
    await filled();
    expect(await count(open())).toBe(10);
  });
});

describe.skipIf(!embedded.available)("the embedded database's thread", () => {
  test("that takes too long for a statement is ended, and the next query opens it again", async () => {
    await filled();
    const lost: Error[] = [];
    const thread = await startThread(
      { folder: pglite(), image: null },
      { ...LIMITS, statementMs: 1_500 },
      (cause) => void lost.push(cause),
    );
    await thread.query("insert into thing values (11)", []);
    await expect(thread.query("select count(*) from generate_series(1, 1000000000)", [])).rejects.toThrow(SqlUnavailable);
    expect(thread.alive).toBe(false);
    await expect(thread.query("select 1", [])).rejects.toThrow(SqlUnavailable);
    expect(lost).toHaveLength(1);
    expect(await count(open())).toBe(11);
  });

  test("does not keep a process alive that forgot to close it, nor does it print", async () => {
    const index = JSON.stringify(new URL("../../dist/index.js", import.meta.url).href);
    const script = `import { openSql, runSql } from ${index};
      const engine = openSql({ url: null, dataDir: ${JSON.stringify(dataDir)}, onEvent() {} });
      const { rows } = await runSql(await engine.database("logs"), "select 1 as one");
      process.stdout.write(JSON.stringify(rows));`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], { timeout: 15_000 });
    expect([stdout, stderr]).toEqual(['[{"one":1}]', ""]);
  });

  test("many queries of both lanes at once all get their own answer", async () => {
    const engine = open();
    const [control, logs] = [await engine.database<unknown>("control"), await engine.database<unknown>("logs")];
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        runSql<{ value: number }>(index % 2 === 0 ? control : logs, "select $1::integer as value", [index]),
      ),
    );
    expect(answers.map(({ rows }) => rows[0]?.value)).toEqual(Array.from({ length: 200 }, (_, index) => index));
  });
});
