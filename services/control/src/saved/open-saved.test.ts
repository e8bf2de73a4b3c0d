import { connect as connectTo, createServer, type Socket } from "node:net";
import { Secret } from "@unigate/core";
import { createSealer } from "@unigate/secrets";
import { openSql, runSql, type SqlEngine } from "@unigate/sql";
import { freePort, requirement, until } from "@unigate/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openSavedStore, type SavedPlace } from "./open-saved.ts";
import { nextOf, savedRow, TEST_KEY } from "./saved.fixture.ts";
import { type LiveSaved, openSaved } from "./saved.ts";
import { makeOnServer, type TestDatabase } from "./sql/sql-database.fixture.ts";
import { SavedUnavailable } from "./types.ts";

const postgres = requirement("postgres");
const sealer = createSealer(Buffer.alloc(32, 9));
const logged: string[] = [];
const record = (fields: object, text: string): void => void logged.push(`${text} ${JSON.stringify(fields)}`);
const log = { info: record, warn: record, error: record } as SavedPlace["log"];
const engines: SqlEngine[] = [];

function engineAt(url: string): SqlEngine {
  const engine = openSql({ url: new Secret(url), dataDir: "", onEvent() {} });
  engines.push(engine);
  return engine;
}
function placeOf(database: SqlEngine, more: Partial<SavedPlace> = {}): SavedPlace {
  return { dataDir: "", database, masterKey: TEST_KEY, clock: { now: () => 1 }, log, patience: { mostMs: 60, everyMs: 20 }, ...more };
}

beforeEach(() => {
  logged.length = 0;
});
afterAll(async () => {
  for (const engine of engines) await engine.close();
});

test("a database that does not answer is waited for with a line each time, and then the start fails with what to do", async () => {
  const engine = engineAt(`postgres://a:b@127.0.0.1:${await freePort()}/c`);
  // Loads what the first attempt loads.
  await expect(openSavedStore(placeOf(engine))).rejects.toThrow("was waited for 0.06 s");
  await expect(openSavedStore(placeOf(engine, { patience: { mostMs: 2_000, everyMs: 100 } }))).rejects.toThrow(
    /^the database \(UNIGATE_DATABASE_URL\) was waited for 2 s: the database does not answer: .*ECONNREFUSED.*; expected a PostgreSQL server that answers there$/,
  );
  expect(logged.length).toBeGreaterThanOrEqual(2);
  expect(logged[0]).toContain("does not answer yet; it is tried again");
});

describe.skipIf(!postgres.available)("over Postgres", () => {
  let database: TestDatabase;
  let opened: LiveSaved[];

  beforeAll(async () => {
    database = await makeOnServer(postgres.at);
  });
  beforeEach(async () => {
    opened = [];
    await runSql(await database.engine().database("control"), "drop schema if exists control cascade");
  });
  afterEach(async () => {
    for (const saved of opened) await saved.close();
  });
  afterAll(() => database.drop());

  async function live(engine: SqlEngine): Promise<LiveSaved> {
    const store = await openSavedStore(placeOf(engine));
    const saved = await openSaved({ store, hub: { publish() {} }, sealer, log, pollMs: 10 });
    opened.push(saved);
    return saved;
  }

  /** The way to the database, which can be cut and mended. */
  async function cuttable(): Promise<{ readonly url: string; cut(): Promise<void>; mend(): Promise<void>; close(): Promise<void> }> {
    const target = new URL(database.url?.reveal() ?? "");
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      const other = connectTo(Number(target.port), target.hostname);
      for (const one of [socket, other]) {
        sockets.add(one);
        one.on("error", () => {});
        one.on("close", () => {
          sockets.delete(one);
          socket.destroy();
          other.destroy();
        });
      }
      socket.pipe(other).pipe(socket);
    });
    const listen = (port: number): Promise<void> => new Promise((done) => server.listen(port, "127.0.0.1", done));
    await listen(0);
    const { port } = server.address() as { port: number };
    const cut = async (): Promise<void> => {
      const closed = new Promise((done) => server.close(done));
      for (const socket of sockets) socket.destroy();
      await closed;
    };
    return {
      url: Object.assign(new URL(target), { host: `127.0.0.1:${port}` }).href,
      cut,
      mend: () => listen(port),
      close: () => (server.listening ? cut() : Promise.resolve()),
    };
  }

  test("two processes see each other's changes, without a restart", async () => {
    const [one, other] = [await live(database.engine()), await live(database.engine())];
    const row = savedRow({ id: "k", keyHashes: ["a".repeat(64)] });
    await one.write([{ put: row }]);
    expect(await until("the new row", () => other.get("api_key", "org-default", "k"))).toEqual(row);
    await other.write([{ put: nextOf(row, { keyHashes: ["b".repeat(64)] }) }]);
    await until("the next version", () => one.get("api_key", "org-default", "k")?.version === 2);
    await expect(one.write([{ put: nextOf(row) }])).rejects.toMatchObject({ name: "SavedConflict", what: "changed" });
    await one.write([{ remove: nextOf(row) }]);
    await until("the removal", () => other.get("api_key", "org-default", "k") === undefined);
  });

  test("many writers in two processes: both end up with the same, and own writes are seen at once", async () => {
    const both = [await live(database.engine()), await live(database.engine())] as const;
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        const saved = both[writer % 2] ?? both[0];
        let row = savedRow({ kind: "config", id: `c${writer}` });
        await saved.write([{ put: row }]);
        for (let step = 0; step < 5; step++) {
          row = nextOf(row);
          await saved.write([{ put: row }]);
          expect(saved.get("config", "org-default", row.id)).toEqual(row);
        }
      }),
    );
    const versions = (saved: LiveSaved) => saved.list("config", "org-default").map(({ id, version }) => `${id} ${version}`);
    await until("the same in both", () => versions(both[0]).join() === versions(both[1]).join() && versions(both[0]).length === 8);
    expect(versions(both[0])).toEqual(Array.from({ length: 8 }, (_, writer) => `c${writer} 6`));
  });

  test("a database that goes and comes back: reads go on, writes are refused, changes of the meantime arrive", async () => {
    const way = await cuttable();
    const [here, there] = [await live(engineAt(way.url)), await live(database.engine())];
    const row = savedRow({ id: "k" });
    await here.write([{ put: row }]);
    await way.cut();
    const refused: unknown = await here.write([{ put: nextOf(row) }]).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(SavedUnavailable);
    await until("it is lost", () => !here.reachable());
    expect(here.get("api_key", "org-default", "k")).toEqual(row);
    await until("the row elsewhere", () => there.get("api_key", "org-default", "k"));
    await there.write([{ remove: row }]);
    await way.mend();
    await until("it is back", () => here.reachable());
    expect(here.get("api_key", "org-default", "k")).toBeUndefined();
    await here.write([{ put: savedRow({ id: "next" }) }]);
    expect(logged.filter((line) => line.includes("the store of saved things"))).toHaveLength(2);
    await here.close();
    opened = opened.filter((saved) => saved !== here);
    await way.close();
  });

  test("another master key is refused with the variable to correct, and the first one still works", async () => {
    await live(database.engine());
    const masterKey = { fingerprint: "00000000000000bb", source: "UNIGATE_MASTER_KEY" };
    await expect(openSavedStore(placeOf(database.engine(), { masterKey }))).rejects.toThrow(
      'the secrets in the database\'s schema "control" (UNIGATE_DATABASE_URL) are sealed under another master key (mark 00000000000000aa) than that of UNIGATE_MASTER_KEY (mark 00000000000000bb): put the former key into UNIGATE_MASTER_KEY',
    );
    await live(database.engine());
  });

  test("a newer schema is refused with both versions", async () => {
    await live(database.engine());
    const later = "insert into control.schema_migration (name, timestamp) values ('0099-later', 'now')";
    await runSql(await database.engine().database("control"), later);
    await expect(openSavedStore(placeOf(database.engine()))).rejects.toThrow(
      /^the database schema "control" is at version "0099-later", newer than "0001-saved-things" of this program/,
    );
  });

  test("a database that refuses is not waited for", async () => {
    const url = Object.assign(new URL(postgres.at), { pathname: "/no_such_database" }).href;
    await expect(openSavedStore(placeOf(engineAt(url), { patience: { mostMs: 60_000, everyMs: 60_000 } }))).rejects.toThrow(
      'the database (UNIGATE_DATABASE_URL) refuses: database "no_such_database" does not exist',
    );
  });

  test("several that start at once on an empty database all start", async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => openSavedStore(placeOf(database.engine()))));
    const numbers = await Promise.all(stores.map((store, index) => store.write([{ put: savedRow({ id: `${index}` }) }])));
    expect(numbers.toSorted((left, right) => left - right)).toEqual([1, 2, 3, 4]);
  });
});
