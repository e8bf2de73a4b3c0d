import { expect, test } from "vitest";
import { readBaggage } from "./baggage.ts";

test.each<[string, string | undefined, unknown]>([
  ["none", undefined, null],
  ["empty", "", null],
  ["too long", `a=${"x".repeat(8_192)}`, null],
  ["members with properties and spaces", "userId=alice , tier = gold;ttl=3;x", { userId: "alice", tier: "gold" }],
  ["percent-encoding", "name=J%C3%BCrgen%2C", { name: "Jürgen," }],
  ["what is no member", "=x,novalue,bad key=1,a=%zz,__proto__=1,ok=", { ok: "" }],
  ["an equals sign in a value", "q=a=b", { q: "a=b" }],
])("%s", (_, text, expected) => {
  expect(readBaggage(text)).toEqual(expected);
});

test("members past the limit are left out", () => {
  const text = Array.from({ length: 400 }, (_, index) => `k${index}=1`).join(",");
  expect(Object.keys(readBaggage(text) ?? {})).toHaveLength(180);
});
