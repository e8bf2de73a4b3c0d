import { describe, expect, test } from "vitest";
import { createGuard, type Guard, StoreLostError } from "./guard.ts";

const DEADLINE_MS = 20;

function setUp() {
  let time = 0;
  const told: string[] = [];
  const guard = createGuard({
    deadlineMs: DEADLINE_MS,
    describe: (error) => (error instanceof Error ? error.message : "?"),
    onLost: (why) => told.push(`lost: ${why}`),
    onBack: () => told.push("back"),
    now: () => time,
    draw: () => 0.5,
  });
  return { guard, told, advance: (ms: number) => (time += ms) };
}

const works = (): Promise<string> => Promise.resolve("done");
const breaks = (): Promise<string> => Promise.reject(new Error("broken"));
const hangs = (): Promise<string> => new Promise(() => {});

/** What comes of operations one after the other. */
async function outcomes(guard: Guard, ...operations: (() => Promise<string>)[]): Promise<string[]> {
  const found = [];
  for (const operation of operations) found.push(await outcome(guard.run(operation)));
  return found;
}

function outcome(running: Promise<string>): Promise<string> {
  return running.catch((error: unknown) => (error instanceof StoreLostError ? error.reason : `thrown: ${String(error)}`));
}

describe("deadline", () => {
  test("no answer in time is a loss", async () => {
    const { guard } = setUp();
    await expect(guard.run(hangs)).rejects.toMatchObject({ name: "StoreLostError", reason: "timeout", message: "no answer within 20 ms" });
    await expect(guard.run(hangs, 1)).rejects.toThrow("no answer within 1 ms");
    expect(guard.statistics()).toMatchObject({ failures: { timeout: 2 }, waiting: 2 });
  });

  test("an answer that came while the process was busy is taken", async () => {
    const { guard } = setUp();
    const answered = new Promise<string>((resolve) => setImmediate(() => resolve("done")));
    const running = guard.run(() => answered);
    const busyUntil = performance.now() + 2 * DEADLINE_MS;
    while (performance.now() < busyUntil);
    expect(await running).toBe("done");
  });

  test("a late failure is neither counted again nor unhandled", async () => {
    const { guard } = setUp();
    let fail: (error: Error) => void = () => {};
    const running = guard.run(() => new Promise<string>((_, reject) => (fail = reject)));
    expect(await outcome(running)).toBe("timeout");
    fail(new Error("too late"));
    await Promise.resolve();
    expect(guard.statistics()).toMatchObject({ failures: { timeout: 1, failed: 0 }, waiting: 0 });
  });
});

describe("breaker", () => {
  test("five failures in a row open it, a success between starts the count anew", async () => {
    const { guard, told } = setUp();
    expect(await outcomes(guard, breaks, breaks, breaks, breaks, works, breaks, breaks, breaks, breaks)).not.toContain("resting");
    expect(guard.statistics().open).toBe(false);
    expect(await outcomes(guard, breaks, works, works)).toEqual(["failed", "resting", "resting"]);
    expect(guard.statistics()).toMatchObject({ open: true, failures: { failed: 9, resting: 2 } });
    expect(told).toEqual(["lost: broken"]);
  });

  test("after a rest one operation is tried: it closes, or the rest begins again", async () => {
    const { guard, told, advance } = setUp();
    await outcomes(guard, breaks, breaks, breaks, breaks, breaks);
    advance(999);
    expect(await outcomes(guard, works)).toEqual(["resting"]);
    advance(1);
    const probe = outcome(guard.run(hangs));
    expect(await outcomes(guard, works)).toEqual(["resting"]);
    expect(await probe).toBe("timeout");
    expect(await outcomes(guard, works)).toEqual(["resting"]);
    advance(1_000);
    expect(await outcomes(guard, works, works)).toEqual(["done", "done"]);
    expect(told).toEqual(["lost: broken", "back"]);
  });

  test("many that fail at once open it once, for no longer than a rest", async () => {
    const { guard, told, advance } = setUp();
    const all = Array.from({ length: 50 }, () => outcome(guard.run(hangs)));
    advance(1);
    expect(new Set(await Promise.all(all))).toEqual(new Set(["timeout"]));
    advance(1_000);
    expect(await outcomes(guard, works)).toEqual(["done"]);
    expect(told).toEqual(["lost: no answer within 20 ms", "back"]);
  });
});

test("a lost connection and one that is back are told once", async () => {
  const { guard, told } = setUp();
  guard.lost("closed");
  guard.lost("closed again");
  await outcomes(guard, breaks, breaks, breaks, breaks, breaks);
  guard.restored();
  guard.restored();
  expect(told).toEqual(["lost: closed", "back"]);
  expect(await outcomes(guard, works)).toEqual(["done"]);
});

test("what waits is bounded", async () => {
  const { guard } = setUp();
  const waiting = Array.from({ length: 10_000 }, () => outcome(guard.run(hangs)));
  expect(await outcomes(guard, works)).toEqual(["busy"]);
  await Promise.all(waiting);
});
