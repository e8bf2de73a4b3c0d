import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { AppendBatch } from "@unigate/contracts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createSpool, type Spool } from "./spool.ts";

// A process that writes records of random sizes as fast as it can, tells after each round how many it has offered and
// how many of them were handed to the kernel, and is killed. What it told must be there, and nothing twice or between.

const CHILD = `
import { writeSync } from "node:fs";
import { newHead } from "@unigate/events";
import { createSpool } from "./src/index.ts";
const [dir, seed, mode] = process.argv.slice(1);
let state = Number(seed);
const random = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 2 ** 32; };
const spool = createSpool({
  dir, log: { info() {}, warn() {} },
  deliver: async () => mode === "deliver" && random() < 0.5,
  limits: { segmentBytes: 200_000, tailBytes: 50_000, backoffMs: 1, maxBackoffMs: 4 },
});
const started = (id) => spool.started({ time: 1, traceId: "", spanId: "", parentSpanId: "", spanName: "", sampled: true, requestId: id, organisationId: "", workspaceId: "", apiKeyId: "", surface: "chat", method: "POST", path: "/" });
let offered = 0;
started("never-ends");
while (spool.stats().segments === 0) await new Promise((resolve) => setImmediate(resolve));
for (;;) {
  for (let count = random() * 20; count > 0; count--) {
    const head = newHead(String(offered), 1);
    const body = Buffer.alloc(Math.floor(random() * 5_000), "x");
    const number = started(head.id);
    if (random() < 0.5) await new Promise((resolve) => setImmediate(resolve));
    spool.offer({ head, request: { headers: null, body, json: false, truncated: false }, response: null }, number, true);
    offered += 1;
  }
  await new Promise((resolve) => setTimeout(resolve, random() * 4));
  writeSync(1, offered + " " + (offered - spool.stats().waitingRecords) + "\\n");
}`;

let dir = "";
let child: ChildProcess | null = null;
let spool: Spool | null = null;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "unigate-crash-"));
});
afterEach(async () => {
  child?.kill("SIGKILL");
  await spool?.close();
  await rm(dir, { recursive: true, force: true });
});

/** Runs the child until it has told so many rounds and written something, and kills it. Gives what it told last. */
async function runAndKill(seed: number, rounds: number, mode: string): Promise<{ offered: number; written: number }> {
  const running = spawn(
    process.execPath,
    ["--import", "tsx", "--conditions=unigate:source", "--input-type=module", "-e", CHILD, dir, String(seed), mode],
    { cwd: fileURLToPath(new URL("..", import.meta.url)), stdio: ["ignore", "pipe", "inherit"] },
  );
  child = running;
  const exited = once(running, "exit");
  let [told, last] = [0, ""];
  for await (const line of createInterface({ input: running.stdout })) {
    last = line;
    told += 1;
    if (told >= rounds && Number(line.split(" ")[1]) > 0) running.kill("SIGKILL");
  }
  expect((await exited)[1]).toBe("SIGKILL");
  const [offered = 0, written = 0] = last.split(" ").map(Number);
  return { offered, written };
}

interface Delivered {
  readonly id: string;
  readonly request_id: string;
  readonly outcome: string;
}

async function deliverAll(): Promise<{ records: Delivered[]; torn: number; damaged: number }> {
  const records: Delivered[] = [];
  const one = createSpool({
    dir,
    log: { info() {}, warn() {} },
    deliver: (batch: AppendBatch) => {
      records.push(...batch.records.map((record) => JSON.parse(String(record)) as Delivered));
      return Promise.resolve(true);
    },
  });
  spool = one;
  // Every killed process left at least one request open.
  await vi.waitFor(() => expect(one.stats().interrupted).toBeGreaterThan(0), { timeout: 20_000 });
  await vi.waitFor(() => expect(one.stats().records).toBe(0), { timeout: 20_000 });
  await one.close();
  expect(await readdir(dir)).toEqual([]);
  const { torn, damaged } = one.stats();
  return { records, torn, damaged };
}

test("kill -9 while writing: all that the kernel had is delivered, without gaps, in order", { timeout: 120_000 }, async () => {
  for (const [round, seed] of [11, 22, 33, 44].entries()) {
    const { offered, written } = await runAndKill(seed, 3 + round * 17, "keep");
    const { records, damaged, torn } = await deliverAll();
    const ids = records.flatMap(({ id, outcome }) => (outcome === "interrupted" ? [] : [Number(id)]));
    expect(ids).toEqual(ids.map((_, index) => index));
    expect(ids.length).toBeGreaterThanOrEqual(written);
    expect(offered).toBeGreaterThan(0);
    expect(damaged).toBe(0);
    expect(torn).toBeLessThanOrEqual(1);
    const interrupted = records.filter(({ outcome }) => outcome === "interrupted").map(({ request_id }) => request_id);
    expect(interrupted[0]).toBe("never-ends");
    // The others had begun when it was killed: they are newer than every record.
    for (const id of interrupted.slice(1)) expect(Number(id)).toBeGreaterThanOrEqual(ids.length);
  }
});

test("kill -9 while delivering: what comes is the end of what was written, without gaps", { timeout: 120_000 }, async () => {
  const { written } = await runAndKill(5, 60, "deliver");
  const { records } = await deliverAll();
  const ids = records.flatMap(({ id, outcome }) => (outcome === "interrupted" ? [] : [Number(id)]));
  const first = ids[0] ?? 0;
  expect(ids).toEqual(ids.map((_, index) => first + index));
  if (ids.length > 0) expect(first + ids.length).toBeGreaterThanOrEqual(written);
});

test("two processes take over what two killed ones left: each record comes once", { timeout: 120_000 }, async () => {
  const written = [(await runAndKill(7, 20, "keep")).written, (await runAndKill(8, 20, "keep")).written];
  const seen: string[] = [];
  const start = () =>
    createSpool({
      dir,
      log: { info() {}, warn() {} },
      limits: { rescanMs: 10 },
      deliver: (batch: AppendBatch) => {
        seen.push(...batch.records.map((record) => `${batch.spoolId} ${(JSON.parse(String(record)) as Delivered).id}`));
        return Promise.resolve(true);
      },
    });
  const both = [start(), start()];
  const folders = () => new Set(seen.map((text) => text.split(" ")[0]));
  await vi.waitFor(() => expect(folders().size).toBe(2), { timeout: 20_000 });
  await vi.waitFor(() => expect(both.map((one) => one.stats().records)).toEqual([0, 0]), { timeout: 20_000 });
  await Promise.all(both.map((one) => one.close()));
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.length).toBeGreaterThanOrEqual((written[0] ?? 0) + (written[1] ?? 0));
  expect(await readdir(dir)).toEqual([]);
});
