import type { Change, Ref } from "@unigate/contracts";
import { CancelToken } from "@unigate/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createWatchHub, type WatchHub } from "./watch-hub.ts";

const ref = (id: string): Ref => ({ kind: "config", id, tenant: undefined, keyHash: Buffer.alloc(0), version: "" });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Reads a watch as it goes; `stop` ends it. */
function follow(hub: WatchHub, request = { epoch: "", afterSeq: 0 }) {
  const cancel = new CancelToken();
  const changes: Change[] = [];
  const done = (async () => {
    for await (const change of hub.watch(request, cancel)) changes.push(change);
  })();
  return {
    changes,
    words: () => changes.map(({ seq, what }) => (what?.$case === "changed" ? `${seq} ${what.value.id}` : `${seq} ${what?.$case}`)),
    done,
    stop: () => {
      cancel.cancel("peer");
      return done;
    },
  };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("watch hub", () => {
  test("greets with a heartbeat, tells changes in order and beats each second", async () => {
    const hub = createWatchHub();
    const watcher = follow(hub);
    await pass(0);
    hub.publish([ref("a"), ref("b")]);
    await pass(2_500);
    hub.publish([ref("c")]);
    await pass(0);
    expect(watcher.words()).toEqual(["0 heartbeat", "1 a", "2 b", "2 heartbeat", "2 heartbeat", "3 c"]);
    await watcher.stop();
    hub.publish([ref("d")]);
    expect(watcher.changes).toHaveLength(6);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ["some it missed", 1, ["2 b", "3 c", "3 heartbeat"]],
    ["all", 0, ["1 a", "2 b", "3 c", "3 heartbeat"]],
    ["none", 3, ["3 heartbeat"]],
    ["some of the future", 9, ["3 reset", "3 heartbeat"]],
  ])("a watcher that comes back gets %s", async (_case, afterSeq, expected) => {
    const hub = createWatchHub();
    const first = follow(hub);
    await pass(0);
    hub.publish([ref("a"), ref("b"), ref("c")]);
    await pass(0);
    const epoch = first.changes[0]?.epoch ?? "";
    const second = follow(hub, { epoch, afterSeq });
    await pass(0);
    expect(second.words()).toEqual(expected);
    hub.close();
    await Promise.all([first.done, second.done]);
  });

  test("a watcher too far behind, or of another epoch, gets a reset", async () => {
    const hub = createWatchHub({ kept: 2 });
    const first = follow(hub);
    await pass(0);
    hub.publish([ref("a"), ref("b"), ref("c"), ref("d")]);
    const epoch = first.changes[0]?.epoch ?? "";
    for (const request of [
      { epoch, afterSeq: 1 },
      { epoch: "other", afterSeq: 4 },
    ]) {
      const watcher = follow(hub, request);
      await pass(0);
      expect(watcher.words()).toEqual(["4 reset", "4 heartbeat"]);
    }
    const near = follow(hub, { epoch, afterSeq: 2 });
    await pass(0);
    expect(near.words()).toEqual(["3 c", "4 d", "4 heartbeat"]);
    hub.close();
    await near.done;
  });

  test("two hubs have two epochs", async () => {
    const [one, two] = [createWatchHub(), createWatchHub()].map((hub) => follow(hub));
    await pass(0);
    expect(one?.changes[0]?.epoch).not.toBe(two?.changes[0]?.epoch);
    await Promise.all([one?.stop(), two?.stop()]);
  });

  test("a slow watcher costs a bounded queue and gets a reset", async () => {
    const hub = createWatchHub({ queue: 5 });
    const cancel = new CancelToken();
    const slow = hub.watch({ epoch: "", afterSeq: 0 }, cancel);
    expect((await slow.next()).value).toMatchObject({ what: { $case: "heartbeat" } });
    for (let index = 1; index <= 8; index++) hub.publish([ref(String(index))]);
    const kinds: string[] = [];
    for (let index = 0; index < 3; index++) {
      const { value } = await slow.next();
      kinds.push(`${value?.seq} ${value?.what?.$case}`);
    }
    expect(kinds).toEqual(["6 reset", "7 changed", "8 changed"]);
    cancel.cancel("peer");
    expect((await slow.next()).done).toBe(true);
  });
});
