import { readRecord } from "@unigate/events";
import type { RecordBodies } from "@unigate/kafka";
import type { AddOutcome, LogStore, NewRecord } from "../log-store.ts";
import { createLogStore } from "../memory/memory-log-store.ts";
import { openRecordFiles, type RecordFileLimits, type RecordFiles } from "./record-files.ts";

/** Bodies of a record without them may come yet. */
const NO_BODIES = Buffer.from(',"request":null,"response":null}');
const BODIES = '{"bodies":';
/** Most lines that are known to be missing in the files. */
const MOST_UNWRITTEN = 10_000;

export interface KeptLogStoreOptions {
  readonly folder: string;
  /** Told once when records can no longer be written; they stay in memory. Must not throw. */
  readonly onTrouble: (error: unknown) => void;
  readonly limits?: RecordFileLimits;
}

/** A line for the files. */
interface Line {
  /** Of what it holds. */
  readonly key: string;
  /** Memory had nothing of this key before. */
  readonly isNew: boolean;
  bytes(): Buffer;
}

/**
 * The last records in memory, and in files that the next start reads: no database, and nothing of a record is parsed or
 * encoded for it. Starts at once; what asks for records waits until the files are read.
 */
export function openKeptLogStore({ folder, onTrouble, limits }: KeptLogStoreOptions): LogStore {
  const memory = createLogStore();
  const opening = open().catch((error: unknown) => {
    onTrouble(error);
    return null;
  });
  let lost = false;
  let writing: Promise<void> = Promise.resolve();
  /** Lines that memory has and the files do not, the oldest first: when one comes again it is written. */
  const unwritten = new Set<string>();

  async function open(): Promise<RecordFiles> {
    const files = await openRecordFiles(folder, limits);
    const [records, bodies]: [NewRecord[], RecordBodies[]] = [[], []];
    await files.read((line) => {
      const apart = bodiesOfLine(line);
      if (apart !== null) return void bodies.push(apart);
      const read = readRecord(line);
      if (read.ok) records.push({ ...read.record, bodiesApart: line.subarray(read.record.headEnd).equals(NO_BODIES) });
    });
    await memory.add(records);
    await memory.addBodies(bodies);
    return files;
  }

  /**
   * One after the other, so that files hold records in the order of their coming. What came again waits for what came
   * first, and is written only when that could not be.
   */
  function keep(lines: readonly Line[]): Promise<void> {
    writing = writing.then(async () => {
      const files = await opening;
      const missing = lines.filter(({ key, isNew }) => isNew || unwritten.has(key));
      if (files === null || missing.length === 0) return;
      try {
        await files.append(missing.map(({ bytes }) => bytes()));
        for (const { key } of missing) unwritten.delete(key);
        lost = false;
      } catch (error) {
        for (const { key } of missing) unwritten.add(key);
        for (const key of unwritten) if (unwritten.size > MOST_UNWRITTEN) unwritten.delete(key);
        if (!lost) onTrouble(error);
        lost = true;
      }
    });
    return writing;
  }

  async function keepAll(lines: readonly Line[]): Promise<AddOutcome> {
    await keep(lines);
    const stored = lines.filter(({ isNew }) => isNew).length;
    return { stored, duplicates: lines.length - stored, expired: 0, refused: 0, detail: "" };
  }

  return {
    async add(records): Promise<AddOutcome> {
      await opening;
      return keepAll(records.map((record) => ({ key: record.head.id, isNew: memory.take(record), bytes: () => record.bytes })));
    },
    async addBodies(bodies): Promise<AddOutcome> {
      await opening;
      return keepAll(bodies.map((one) => ({ key: `${BODIES}${one.id}`, isNew: memory.takeBodies(one), bytes: () => lineOfBodies(one) })));
    },
    async list(selection) {
      await opening;
      return memory.list(selection);
    },
    async get(tenant, id) {
      await opening;
      return memory.get(tenant, id);
    },
    async close() {
      await writing;
      await (await opening)?.close();
    },
  };
}

/** Bodies that came apart from their record stand in a line of their own. */
function lineOfBodies(bodies: RecordBodies): Buffer {
  return Buffer.from(`${BODIES}${JSON.stringify(bodies)}}`);
}

/** Null for the line of a record, and for one that is damaged. */
function bodiesOfLine(line: Buffer): RecordBodies | null {
  if (line.indexOf(BODIES) !== 0) return null;
  try {
    const { bodies } = JSON.parse(line.toString("utf8")) as { bodies?: Partial<RecordBodies> | null };
    const { id, time, organisationId, tail } = bodies ?? {};
    if (typeof id !== "string" || typeof time !== "number" || typeof organisationId !== "string" || typeof tail !== "string") return null;
    return { id, time, organisationId, tail };
  } catch {
    return null;
  }
}
