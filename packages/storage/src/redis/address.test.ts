import { inspect } from "node:util";
import { Secret } from "@unigate/core";
import { expect, test } from "vitest";
import { type RedisAddress, readRedisAddress } from "./address.ts";

const read = (url: string, cluster?: boolean): RedisAddress => readRedisAddress(new Secret(url), cluster);
const node = (host: string, port: number): RedisAddress["nodes"][number] => ({ host, port });

test.each<[string, Partial<RedisAddress>]>([
  ["redis://cache", { nodes: [node("cache", 6_379)], cluster: false, tls: false, username: "", password: null, database: 0 }],
  ["redis://127.0.0.1:7000/3", { nodes: [node("127.0.0.1", 7_000)], database: 3 }],
  ["rediss://[::1]:7000/", { nodes: [node("::1", 7_000)], tls: true, database: 0 }],
  ["redis://a:1,redis://b:2", { nodes: [node("a", 1), node("b", 2)], cluster: true }],
  ["rediss://user:p@a:1, b:2 ,c", { nodes: [node("a", 1), node("b", 2), node("c", 6_379)], cluster: true, tls: true, username: "user" }],
])("%s", (url, address) => {
  expect(read(url)).toMatchObject(address);
});

test("user and password are decoded", () => {
  const address = read("redis://us%20er:p%40ss%2Cw%2Ford@cache");
  expect(address.username).toBe("us er");
  expect(address.password?.reveal()).toBe("p@ss,w/ord");
  expect(read("redis://:only@cache")).toMatchObject({ username: "" });
});

test("one node may be asked for as a cluster", () => {
  expect(read("redis://configuration-endpoint:6379", true).cluster).toBe(true);
});

test.each([
  ["", "is not of the form"],
  ["http://hush@cache", "is not of the form"],
  ["redis://u:hush@cache:99999", "is not of the form"],
  ["redis://u:hush@", "is not of the form"],
  ["redis://u:hush@cache/zero", "number of a database"],
  ["redis://u:hush@a/1,b", "no databases"],
  ["redis://u:hush%@cache", "not percent-encoded"],
])("%s is refused, and not told", (url, message) => {
  let error: unknown;
  try {
    read(url);
  } catch (thrown) {
    error = thrown;
  }
  expect(inspect(error)).toContain(message);
  expect(inspect(error, { depth: 9 })).not.toContain("hush");
});

test("an address can be printed", () => {
  expect(inspect(read("redis://u:hush@cache"), { depth: 9 })).not.toContain("hush");
});
