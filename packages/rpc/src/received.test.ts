import { expect, test } from "vitest";
import { ReceivedMessages } from "./received.ts";

test("objects are frozen at every depth, bytes stay writable and are compared", () => {
  const received = new ReceivedMessages();
  const message = received.guard("request", { deep: { list: [{ name: "a" }] }, bytes: Buffer.from("abc"), nothing: undefined });
  expect(() => Object.assign(message.deep.list[0] ?? {}, { name: "b" })).toThrow(TypeError);
  expect(() => message.deep.list.push({ name: "c" })).toThrow(TypeError);
  received.verify();
  message.bytes.fill(0);
  received.verify();
});

test("changed bytes are named, also when many messages came after them", () => {
  const received = new ReceivedMessages();
  const first = received.guard("first", Buffer.from("abc"));
  first.fill(0);
  for (let at = 0; at < 2_000; at += 1) received.guard("later", Buffer.from("abc"));
  expect(() => received.verify()).toThrow("changed by their receiver: first.");
});
