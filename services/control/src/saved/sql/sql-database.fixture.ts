import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "@unigate/core";
import { openSql, runSql, type SqlEngine } from "@unigate/sql";

/** A database of a suite's own. */
export interface TestDatabase {
  /** Null = embedded. */
  readonly url: Secret | null;
  /** Another process's view of it; embedded there is only one. Closed by `drop`. */
  engine(): SqlEngine;
  drop(): Promise<void>;
}

let made = 0;

/** The embedded one. */
export async function makeEmbedded(): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), "unigate-saved-"));
  const engine = openSql({ url: null, dataDir, onEvent() {} });
  return {
    url: null,
    engine: () => engine,
    async drop() {
      await engine.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** One on the server at `at`. */
export async function makeOnServer(at: string): Promise<TestDatabase> {
  const name = `unigate_test_control_${process.pid}_${++made}`;
  const onServer = async (text: string): Promise<void> => {
    const server = openSql({ url: new Secret(at), dataDir: "", onEvent() {} });
    await runSql(await server.database("control"), text);
    await server.close();
  };
  await onServer(`drop database if exists ${name} with (force)`);
  await onServer(`create database ${name}`);
  const url = new Secret(Object.assign(new URL(at), { pathname: `/${name}` }).href);
  const engines: SqlEngine[] = [];
  return {
    url,
    engine() {
      const engine = openSql({ url, dataDir: "", onEvent() {} });
      engines.push(engine);
      return engine;
    },
    async drop() {
      for (const engine of engines) await engine.close();
      await onServer(`drop database ${name} with (force)`);
    },
  };
}
