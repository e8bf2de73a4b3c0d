import type { Change, Ref, ResolveReply, ResolveRequest, WatchRequest } from "@unigate/contracts";
import { type ApiKeyResource, backgroundCall, type Call, CancelToken, GatewayError } from "@unigate/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createResolver } from "./resolver.ts";
import type { Resolver, ResolverLimits, ResourceRef } from "./types.ts";

const TENANT = { organisationId: "org", workspaceId: "ws" };

/** A control whose behaviour the test scripts: "up", "down" (fails at once), "frozen" (never answers). */
class FakeControl {
  state: "up" | "down" | "frozen" = "up";
  watching = true;
  things = new Map<string, { value: unknown; version: string }>();
  asked: string[][] = [];
  watches: WatchRequest[] = [];
  outstanding = 0;
  mostOutstanding = 0;
  epoch = "e1";
  seq = 0;
  /** Held answers are given when the test says so. */
  hold: Promise<void> | null = null;
  private listeners = new Set<(change: Change | null) => void>();

  get calls(): number {
    return this.asked.length;
  }

  set(id: string, value: unknown, version = "1"): void {
    this.things.set(id, { value, version });
  }

  resolve = async (request: ResolveRequest, call: Call): Promise<ResolveReply> => {
    this.asked.push(request.refs.map(nameOf));
    this.outstanding += request.refs.length;
    this.mostOutstanding = Math.max(this.mostOutstanding, this.outstanding);
    try {
      if (this.state === "down") throw new Error("down");
      if (this.state === "frozen") await new Promise((_, reject) => call.cancel.onCancel(reject));
      const items = request.refs.map((ref) => {
        const thing = this.things.get(nameOf(ref));
        const json = Buffer.from(JSON.stringify(thing?.value ?? null));
        return { ref, json, sealed: undefined, version: thing?.version ?? "", changeSeq: this.seq, missing: thing === undefined };
      });
      if (this.hold !== null) await this.hold;
      return { items };
    } finally {
      this.outstanding -= request.refs.length;
    }
  };

  watch = async function* (this: FakeControl, request: WatchRequest, call: Call): AsyncGenerator<Change> {
    this.watches.push(request);
    if (this.state !== "up" || !this.watching) throw new Error("down");
    const queue: (Change | null)[] = [this.message("heartbeat")];
    let wake: () => void = () => {};
    const listener = (change: Change | null) => {
      queue.push(change);
      wake();
    };
    this.listeners.add(listener);
    call.cancel.onCancel(() => listener(null));
    const timer = setInterval(() => {
      if (this.state === "up" && this.watching) listener(this.message("heartbeat"));
    }, 1_000);
    try {
      for (;;) {
        const next = queue.shift();
        if (next === null) return;
        if (next !== undefined) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      clearInterval(timer);
      this.listeners.delete(listener);
    }
  }.bind(this);

  message(kind: "heartbeat" | "reset"): Change {
    return { epoch: this.epoch, seq: this.seq, what: { $case: kind, value: {} } };
  }

  change(ref: Partial<Ref>): void {
    this.seq += 1;
    const value: Ref = {
      kind: "config",
      id: "",
      tenant: { organisationId: "org", workspaceId: "" },
      keyHash: Buffer.alloc(0),
      version: "",
      ...ref,
    };
    for (const listener of this.listeners) listener({ epoch: this.epoch, seq: this.seq, what: { $case: "changed", value } });
  }

  reset(): void {
    for (const listener of this.listeners) listener(this.message("reset"));
  }

  /** All Watch calls end. */
  cut(): void {
    for (const listener of this.listeners) listener(null);
  }
}

function nameOf(ref: Ref): string {
  return ref.keyHash.length > 0 ? `#${ref.keyHash.toString("hex")}` : ref.id;
}

let control: FakeControl;
let resolver: Resolver;
const call = backgroundCall();

function start(limits: Partial<ResolverLimits> = {}): void {
  resolver = createResolver({ control, clock: { now: () => Date.now() }, limits, random: () => 0.5 });
}

async function watching(limits: Partial<ResolverLimits> = {}): Promise<void> {
  start(limits);
  resolver.start();
  await pass(0);
  expect(resolver.stats().blind).toBe(false);
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const ref = (id: string, more: Partial<ResourceRef> = {}): ResourceRef => ({ kind: "config", id, tenant: TENANT, ...more });
const valueOf = async (which: ResourceRef) => (await resolver.resolve<{ text: string }>(which, call))?.value.text;
const MINUTE = 60_000;

beforeEach(() => {
  vi.useFakeTimers();
  control = new FakeControl();
  control.set("a", { text: "one" });
});

afterEach(async () => {
  const stopped = resolver.stop();
  await pass(5_000);
  await stopped;
  vi.useRealTimers();
});

describe("resolver", () => {
  test("asks once, keeps the parsed value, and peeks without asking", async () => {
    await watching();
    expect(resolver.peek(ref("a"))).toBeUndefined();
    const first = await resolver.resolve(ref("a"), call);
    expect(first?.value).toEqual({ text: "one" });
    expect(resolver.peek(ref("a"))).toBe(first);
    expect(await resolver.resolve(ref("a"), call)).toBe(first);
    expect(control.calls).toBe(1);
  });

  test("refs asked for together travel in one call, each ref once", async () => {
    await watching();
    control.set("b", { text: "two" });
    const answers = await Promise.all([ref("a"), ref("b"), ref("a"), ref("a")].map((which) => resolver.resolve(which, call)));
    expect(control.asked).toEqual([["a", "b"]]);
    expect(answers[0]).toBe(answers[2]);
  });

  test("tenants do not share entries", async () => {
    await watching();
    await resolver.resolve(ref("a"), call);
    for (const tenant of [
      { organisationId: "other", workspaceId: "ws" },
      { organisationId: "org", workspaceId: "other" },
    ])
      expect(resolver.peek(ref("a", { tenant }))).toBeUndefined();
  });

  test("past its soft age a value is served at once and refreshed behind it", async () => {
    await watching();
    const first = await resolver.resolve(ref("a"), call);
    control.set("a", { text: "two" }, "2");
    await pass(53_000);
    expect(resolver.peek(ref("a"))).toBe(first);
    await pass(2_000);
    expect(resolver.peek(ref("a"))).toBeUndefined();
    expect(await valueOf(ref("a"))).toBe("one");
    await pass(0);
    expect(resolver.peek<{ text: string }>(ref("a"))?.value.text).toBe("two");
    expect(control.calls).toBe(2);
  });

  test("an unchanged version keeps the value object through a refresh", async () => {
    await watching();
    const first = await resolver.resolve(ref("a"), call);
    await pass(2 * MINUTE);
    await resolver.resolve(ref("a"), call);
    await pass(0);
    expect(resolver.peek(ref("a"))).toBe(first);
  });

  test("a changed thing is asked for before it is used again, whatever the workspace it was seen from", async () => {
    await watching();
    const other = ref("a", { tenant: { organisationId: "org", workspaceId: "other" } });
    await Promise.all([valueOf(ref("a")), valueOf(other)]);
    control.set("b", { text: "b" });
    const b = await resolver.resolve(ref("b"), call);
    control.set("a", { text: "two" }, "2");
    control.change({ id: "a" });
    await pass(0);
    expect(resolver.peek(ref("a"))).toBeUndefined();
    expect(await valueOf(ref("a"))).toBe("two");
    expect(await valueOf(other)).toBe("two");
    expect(resolver.peek(ref("b"))).toBe(b);
  });

  test("a change that comes while control is asked makes the answer be asked for again", async () => {
    await watching();
    let release: () => void = () => {};
    control.hold = new Promise((resolve) => (release = resolve));
    const answer = valueOf(ref("a"));
    await pass(0);
    control.hold = null;
    control.set("a", { text: "two" }, "2");
    control.change({ id: "a" });
    await pass(0);
    release();
    expect(await answer).toBe("two");
    expect(control.calls).toBe(2);
  });

  test("changes that never end do not keep a caller waiting, and the answer is not trusted", async () => {
    await watching();
    const original = control.resolve;
    control.resolve = async (request, own) => {
      const reply = await original(request, own);
      control.change({ id: "a" });
      await pass(0);
      return reply;
    };
    const again = createResolver({ control, clock: { now: () => Date.now() } });
    again.start();
    await pass(0);
    expect((await again.resolve<{ text: string }>(ref("a"), call))?.value.text).toBe("one");
    expect(again.peek(ref("a"))).toBeUndefined();
    expect(control.calls).toBe(4);
    await again.stop();
  });
});

describe("keys", () => {
  const keyHash = Buffer.alloc(32, 7);
  const keyRef: ResourceRef = { kind: "api_key", id: "", tenant: { organisationId: "", workspaceId: "" }, keyHash };
  const name = `#${keyHash.toString("hex")}`;

  test.each([
    ["its hash", { keyHash }],
    ["its id", { id: "key-web" }],
  ])("a key revoked by %s is refused at its next use", async (_case, change) => {
    control.set(name, { id: "key-web" } satisfies Partial<ApiKeyResource>);
    await watching();
    expect(await resolver.resolve(keyRef, call)).not.toBeNull();
    control.things.delete(name);
    control.change({ kind: "api_key", ...change });
    await pass(0);
    expect(await resolver.resolve(keyRef, call)).toBeNull();
    expect(resolver.peek(keyRef)).toBeNull();
  });

  test("a key made after it was refused works at once", async () => {
    await watching();
    expect(await resolver.resolve(keyRef, call)).toBeNull();
    control.set(name, { id: "key-web" });
    expect(await resolver.resolve(keyRef, call)).toBeNull();
    control.change({ kind: "api_key", id: "key-web", keyHash });
    await pass(0);
    expect(await resolver.resolve(keyRef, call)).not.toBeNull();
  });

  test("an unknown key is asked for once in 5 s, and no more than the bound are remembered", async () => {
    await watching({ missingEntries: 10 });
    for (let round = 0; round < 5; round++) expect(await resolver.resolve(keyRef, call)).toBeNull();
    expect(control.calls).toBe(1);
    await pass(5_000);
    expect(resolver.peek(keyRef)).toBeUndefined();
    expect(await resolver.resolve(keyRef, call)).toBeNull();
    expect(control.calls).toBe(2);
    for (let index = 0; index < 100; index++) await resolver.resolve({ ...keyRef, keyHash: Buffer.from(String(index)) }, call);
    expect(resolver.stats().missing).toBe(10);
  });
});

describe("control is down", () => {
  const keyRef = ref("a", { kind: "api_key" });
  const failure = async (which: ResourceRef) => {
    const reason = await resolver.resolve(which, call).catch((error: unknown) => error);
    return reason instanceof GatewayError ? reason.code : reason;
  };

  test("what is known keeps working up to its hard age, then is refused; and works again when control is back", async () => {
    await watching();
    await valueOf(keyRef);
    control.state = "down";
    control.cut();
    await pass(59 * MINUTE);
    expect(await valueOf(keyRef)).toBe("one");
    await pass(MINUTE);
    expect(await failure(keyRef)).toBe("identity_unavailable");
    expect(resolver.peek(keyRef)).toBeUndefined();
    control.state = "up";
    expect(await valueOf(keyRef)).toBe("one");
  });

  test("the hard age counts from the last word of the watch, not from the last answer", async () => {
    await watching();
    await valueOf(keyRef);
    await pass(10 * 60 * MINUTE);
    control.state = "down";
    control.cut();
    await pass(30 * MINUTE);
    expect(await valueOf(keyRef)).toBe("one");
  });

  test("with a hard age of 0 nothing is served without control", async () => {
    await watching({ identityMaxStaleMs: 0 });
    const known = await resolver.resolve(keyRef, call);
    expect(resolver.peek(keyRef)).toBe(known);
    control.state = "down";
    control.cut();
    await pass(0);
    expect(resolver.peek(keyRef)).toBeUndefined();
    expect(await failure(keyRef)).toBe("identity_unavailable");
  });

  test("other kinds have their own age and error", async () => {
    await watching({ otherMaxStaleMs: 2 * MINUTE });
    await valueOf(ref("a"));
    control.state = "down";
    control.cut();
    await pass(MINUTE);
    expect(await valueOf(ref("a"))).toBe("one");
    await pass(2 * MINUTE);
    expect(await failure(ref("a"))).toBe("service_unavailable");
  });

  test("an unknown thing is an error, not missing", async () => {
    control.state = "down";
    start();
    expect(await failure(keyRef)).toBe("identity_unavailable");
    expect(await failure(ref("a"))).toBe("service_unavailable");
    expect(resolver.peek(keyRef)).toBeUndefined();
  });

  test("a change that can no longer be asked for: the old value serves until its hard age", async () => {
    await watching();
    await valueOf(keyRef);
    control.change({ kind: "api_key", id: "a" });
    await pass(0);
    control.state = "down";
    expect(await valueOf(keyRef)).toBe("one");
    await pass(60 * MINUTE);
    expect(await failure(keyRef)).toBe("identity_unavailable");
  });

  test("a control that is frozen makes one request wait, not every one", async () => {
    await watching();
    await valueOf(keyRef);
    control.state = "frozen";
    await pass(2 * MINUTE);
    const first = valueOf(keyRef);
    let done = false;
    void first.then(() => (done = true));
    await pass(1_900);
    expect(done).toBe(false);
    await pass(200);
    expect(await first).toBe("one");
    const before = control.calls;
    for (let request = 0; request < 100; request++) expect(await valueOf(keyRef)).toBe("one");
    expect(control.calls - before).toBeLessThanOrEqual(1);
    control.state = "up";
    await pass(3_000);
    await valueOf(keyRef);
    await pass(0);
    expect(resolver.peek(keyRef)).not.toBeUndefined();
  });

  test("a caller that leaves does not wait", async () => {
    control.state = "frozen";
    start();
    const cancel = new CancelToken();
    const answer = resolver.resolve(keyRef, { ...call, cancel }).catch((error: GatewayError) => error.code);
    cancel.cancel("client_gone");
    expect(await answer).toBe("client_closed");
  });
});

describe("watch", () => {
  test("while only Resolve answers nothing older than the soft age is used", async () => {
    control.watching = false;
    start();
    resolver.start();
    await valueOf(ref("a"));
    control.set("a", { text: "two" }, "2");
    await pass(30_000);
    expect(await valueOf(ref("a"))).toBe("one");
    await pass(30_000);
    expect(await valueOf(ref("a"))).toBe("two");
  });

  test("two missing heartbeats are noticed, and the watch is opened again with what was last seen", async () => {
    await watching();
    control.change({ id: "x" });
    await pass(1_000);
    control.watching = false;
    await pass(2_000);
    expect(resolver.stats().blind).toBe(false);
    await pass(1_500);
    expect(resolver.stats().blind).toBe(true);
    control.watching = true;
    await pass(2_000);
    expect(resolver.stats().blind).toBe(false);
    expect(control.watches.at(-1)).toEqual({ epoch: "e1", afterSeq: 1 });
  });

  test.each([
    ["a reset", () => control.reset()],
    [
      "another epoch",
      () => {
        control.epoch = "e2";
      },
    ],
    [
      "a gap in the numbers",
      () => {
        control.seq += 3;
        control.change({ id: "unrelated" });
      },
    ],
    [
      "a heartbeat that is ahead",
      () => {
        control.seq += 1;
      },
    ],
  ])("%s marks everything stale and drops nothing", async (_case, happen) => {
    await watching();
    await valueOf(ref("a"));
    await resolver.resolve(ref("gone"), call);
    const before = control.calls;
    happen();
    await pass(1_000);
    expect(resolver.stats()).toMatchObject({ entries: 1, missing: 0, blind: false });
    expect(resolver.peek(ref("a"))).toBeUndefined();
    control.state = "down";
    expect(await valueOf(ref("a"))).toBe("one");
    expect(control.calls).toBe(before + 1);
  });

  test("what was resolved before the watch began is asked for again", async () => {
    start();
    await valueOf(ref("a"));
    expect(resolver.peek(ref("a"))).not.toBeUndefined();
    resolver.start();
    await pass(0);
    expect(resolver.peek(ref("a"))).toBeUndefined();
  });

  test("a herd after a reset asks for at most 50 refs at once, and all get their value", async () => {
    await watching();
    const ids = Array.from({ length: 1_000 }, (_, index) => `c${index}`);
    for (const id of ids) control.set(id, { text: id });
    await Promise.all(ids.map((id) => valueOf(ref(id))));
    control.mostOutstanding = 0;
    control.reset();
    await pass(0);
    let release: () => void = () => {};
    control.hold = new Promise((resolve) => (release = resolve));
    const all = Promise.all([...ids, ...ids].map((id) => valueOf(ref(id))));
    await pass(0);
    expect(control.outstanding).toBe(50);
    expect(resolver.stats()).toMatchObject({ inFlight: 50, queued: 950 });
    release();
    expect(await all).toEqual([...ids, ...ids]);
    expect(control.mostOutstanding).toBe(50);
    expect(control.asked.flat()).toHaveLength(2_000);
  });

  test("more waiting refs than the bound fail, and known ones are still served", async () => {
    await watching({ queue: 20, inFlight: 5 });
    await valueOf(ref("a"));
    control.state = "frozen";
    const answers = Array.from({ length: 40 }, (_, index) =>
      resolver.resolve(ref(`c${index}`), call).catch((error: GatewayError) => error.code),
    );
    await pass(0);
    expect(resolver.stats().queued).toBeLessThanOrEqual(20);
    expect(await Promise.race(answers.slice(30))).toBe("service_unavailable");
    expect(await valueOf(ref("a"))).toBe("one");
    await pass(20_000);
    await Promise.all(answers);
  });

  test("urgent refs go before refreshes", async () => {
    await watching({ inFlight: 1 });
    for (const id of ["b", "c", "d"]) control.set(id, { text: id });
    await Promise.all(["a", "b", "c"].map((id) => valueOf(ref(id))));
    await pass(MINUTE);
    control.asked = [];
    await Promise.all(["a", "b", "c"].map((id) => valueOf(ref(id))));
    await valueOf(ref("d"));
    await pass(0);
    expect(control.asked.flat().indexOf("d")).toBeLessThan(3);
    expect(control.asked.flat().slice().sort()).toEqual(["a", "b", "c", "d"]);
  });

  test("ready once anything answered", async () => {
    control.state = "down";
    start();
    resolver.start();
    await pass(5_000);
    expect(resolver.isReady()).toBe(false);
    control.state = "up";
    await pass(5_000);
    expect(resolver.isReady()).toBe(true);
    await resolver.ready;
  });

  test("no more entries than the bound", async () => {
    await watching({ entries: 10 });
    for (let index = 0; index < 30; index++) {
      control.set(`c${index}`, { text: "x" });
      await valueOf(ref(`c${index}`));
    }
    expect(resolver.stats().entries).toBe(10);
  });
});
