// The thread in which PGlite runs: on the main thread it would stop every request while it works.
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { PGlite } from "@electric-sql/pglite";
import { sqlState } from "../fault.ts";
import { BYTEA, INT8, TEXT_TYPES, wholeNumber } from "../values.ts";
import { unpackImage } from "./image.ts";
import { START_PARAMETERS } from "./initdb.ts";
import type { FromWorker, ToWorker, WorkerData } from "./messages.ts";

async function main(port: MessagePort, data: WorkerData): Promise<void> {
  // What the engine prints belongs to nobody's log: what matters is sent as a message.
  process.stdout.write = () => true;
  process.stderr.write = () => true;
  const tell = (message: FromWorker): void => port.postMessage(message);
  const opened = await open(data).catch((error: unknown) => {
    tell({ kind: "open_failed", message: String(error) });
    return null;
  });
  if (opened === null) return port.close();
  tell({ kind: "opened" });
  port.on("message", (message: ToWorker) => {
    if (message.kind === "close") void opened.close().finally(() => port.close());
    else
      void answer(opened, message).then((reply) => {
        tell(reply);
        if (reply.kind === "broken") port.close();
      });
  });
}

async function open({ folder, image }: WorkerData): Promise<PGlite> {
  if (image !== null) unpackImage(image, folder);
  const texts = TEXT_TYPES.map((oid) => [oid, (text: string) => text] as const);
  return PGlite.create(folder, {
    startParams: [...PGlite.defaultStartParams, ...START_PARAMETERS],
    parsers: { ...Object.fromEntries(texts), [INT8]: wholeNumber, [BYTEA]: (text) => Buffer.from(text.slice(2), "hex") },
  });
}

/** One statement; the main thread sends the next one only after the answer. */
async function answer(database: PGlite, { sql, parameters }: Extract<ToWorker, { kind: "query" }>): Promise<FromWorker> {
  try {
    const { rows, affectedRows, fields } = await database.query<Record<string, unknown>>(sql, [...parameters]);
    const bytea = fields.filter(({ dataTypeID }) => dataTypeID === BYTEA).map(({ name }) => name);
    return { kind: "rows", rows, affected: affectedRows ?? 0, bytea };
  } catch (error) {
    const code = sqlState(error);
    if (code !== null && error instanceof Error) return { kind: "refused", message: error.message, code };
    // No SQLSTATE: either a value that cannot be sent, or the engine is gone. Ask it.
    return (await isAlive(database))
      ? { kind: "refused", message: String(error), code: "22000" }
      : { kind: "broken", message: String(error) };
  }
}

async function isAlive(database: PGlite): Promise<boolean> {
  try {
    await database.query("select 1");
    return true;
  } catch (error) {
    // In a failed transaction it answers too, with its code.
    return sqlState(error) === "25P02";
  }
}

if (parentPort !== null) void main(parentPort, workerData as WorkerData);
