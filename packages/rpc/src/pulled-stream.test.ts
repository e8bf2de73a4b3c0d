import { describe, expect, test, vi } from "vitest";
import { type Feed, letGo, PulledStream } from "./pulled-stream.ts";

const END = { done: true, value: undefined };

function feed() {
  return { pull: vi.fn<Feed["pull"]>(), stop: vi.fn<Feed["stop"]>() };
}

describe("a pulled stream", () => {
  test("opens at the first ask and asks its feed for one message at a time", async () => {
    const source = feed();
    const open = vi.fn(() => source);
    const stream = new PulledStream<number>(open);
    expect(open).not.toHaveBeenCalled();
    const asked = [stream.next(), stream.next()];
    expect([open.mock.calls.length, source.pull.mock.calls.length]).toEqual([1, 1]);
    stream.deliver(1);
    expect(source.pull).toHaveBeenCalledTimes(2);
    stream.deliver(2);
    expect(await Promise.all(asked)).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
    ]);
    expect(source.pull).toHaveBeenCalledTimes(2);
  });

  test("takes a feed that answers at once", async () => {
    let count = 0;
    const stream = new PulledStream<number>((self) => ({ pull: () => (count < 3 ? self.deliver(count++) : self.finish()), stop() {} }));
    const all: number[] = [];
    for await (const message of stream) all.push(message);
    expect(all).toEqual([0, 1, 2]);
  });

  test("return ends it while a message is awaited, and stops the feed once", async () => {
    const source = feed();
    const stream = new PulledStream<number>(() => source);
    const pending = stream.next();
    await stream.return();
    await stream.return();
    stream.deliver(1);
    stream.fail(new Error("late"));
    expect([await pending, await stream.next()]).toEqual([END, END]);
    expect(source.stop).toHaveBeenCalledTimes(1);
  });

  test("return before anything was asked for opens nothing", async () => {
    const open = vi.fn(feed);
    const stream = new PulledStream<number>(open);
    expect(await stream.return()).toEqual(END);
    expect(await stream.next()).toEqual(END);
    expect(open).not.toHaveBeenCalled();
  });

  test("a failure reaches all who wait and stays", async () => {
    const source = feed();
    const stream = new PulledStream<number>(() => source);
    const pending = [stream.next(), stream.next()];
    stream.fail(new Error("broken"));
    stream.finish();
    for (const asked of [...pending, stream.next()]) await expect(asked).rejects.toThrow("broken");
  });

  test("may fail while it is opened", async () => {
    const source = feed();
    const stream = new PulledStream<number>((self) => {
      self.fail(new Error("refused"));
      return source;
    });
    await expect(stream.next()).rejects.toThrow("refused");
    expect(source.pull).not.toHaveBeenCalled();
  });
});

test.each([
  ["rejects", { next: vi.fn(), return: () => Promise.reject(new Error("x")) }],
  [
    "throws",
    {
      next: vi.fn(),
      return: () => {
        throw new Error("x");
      },
    },
  ],
  ["cannot return", { next: vi.fn() }],
])("letting an iterator go that %s harms nobody", (_, iterator) => {
  expect(() => letGo(iterator)).not.toThrow();
});
