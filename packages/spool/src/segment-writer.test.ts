import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@unigate/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBacklog } from "./backlog.ts";
import { ENDED, RECORD, STARTED } from "./frame.ts";
import type { PlannedWrite } from "./intake.ts";
import { spoolLimits } from "./limits.ts";
import { createOpenRequests } from "./open-requests.ts";
import { recoverFolder } from "./recover.ts";
import { createSegmentWriter } from "./segment-writer.ts";
import { memorySpan } from "./span.ts";
import { startedRequest } from "./started.fixture.ts";
import { startedText } from "./started.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "unigate-spool-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const REQUEST = startedRequest();

function record(text: string): PlannedWrite {
  const payload = Buffer.from(text);
  return { frames: [{ kind: RECORD, request: 0, payload }], span: memorySpan([payload], payload.length, 1), isListed: false };
}

test("a disk that does not answer: records go out from memory, and are not written once it does; who is open is right", async () => {
  let answer: (path: string) => void = () => undefined;
  const told: string[] = [];
  const openRequests = createOpenRequests();
  const backlog = createBacklog(1_000_000, () => undefined);
  const writer = createSegmentWriter({
    limits: spoolLimits({ stallMs: 20 }),
    clock: systemClock,
    log: { info: (_, text) => told.push(text), warn: (_, text) => told.push(text) },
    backlog,
    openRequests,
    ensureFolder: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
    onChange: () => undefined,
  });
  const [ends, stays] = [openRequests.start(REQUEST), openRequests.start({ ...REQUEST, requestId: "stays" })];
  for (const one of [ends, stays]) {
    one.recorded = true;
    const frame = { kind: STARTED, request: one.number, payload: startedText(one.started) } as const;
    writer.push({ frames: [frame], span: memorySpan([], 0, 1), isListed: false });
  }
  writer.push(record("first"));
  expect(backlog.take(10, 1_000, writer.failing)).toEqual([]);
  await vi.waitFor(() => expect(writer.failing).toBe(true), { timeout: 10_000 });
  // What comes while it fails: the end of a request, which needs no place, and records, one of which is delivered.
  openRequests.end(ends.number);
  writer.push({ frames: [{ kind: ENDED, request: ends.number, payload: null }], span: memorySpan([], 0, 1), isListed: false });
  writer.push(record("second"));
  const taken = backlog.take(1, 1_000, writer.failing);
  expect(taken.flatMap(({ records }) => (records ?? []).map(String))).toEqual(["first"]);
  backlog.remove(taken);
  answer(folder);
  await vi.waitFor(() => expect(backlog.unwrittenRecords).toBe(0), { timeout: 10_000 });
  expect(told).toHaveLength(2);
  expect(writer.failing).toBe(false);
  await writer.close();
  const recovered = await recoverFolder(folder, 1);
  expect(recovered).toMatchObject({ interrupted: 1, torn: 0, damaged: 0 });
  // The second, and the record of the one that stays.
  expect(recovered.spans.map(({ count }) => count)).toEqual([1, 1]);
  expect(String(recovered.spans[1]?.records?.[0])).toContain('"request_id":"stays"');
});
