/* oxlint-disable typescript/restrict-template-expressions, typescript/no-misused-spread, typescript/restrict-plus-operands, typescript/no-base-to-string -- printing a Secret in every way is what is tested here */
import { format, inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { Secret } from "./secret.ts";

const secret = new Secret("hush-hush");

test("the text comes out when it is asked for", () => {
  expect(secret.reveal()).toBe("hush-hush");
});

describe("and in no other way", () => {
  const nested = { credentials: { api_key: secret }, list: [secret], map: new Map([["k", secret]]) };

  test.each<[string, string]>([
    ["a template", `${secret}`],
    ["concatenation", "key=" + secret],
    ["String", String(secret)],
    ["join", [secret, secret].join()],
    ["JSON", JSON.stringify(nested)],
    ["JSON of a map's entries", JSON.stringify([...nested.map])],
    ["inspect", inspect(nested, { depth: 9 })],
    ["inspect with everything", inspect(nested, { depth: 9, showHidden: true, getters: true })],
    ["inspect without its own form", inspect(nested, { depth: 9, customInspect: false, showHidden: true })],
    ["console's %s", format("%s", secret)],
    ["console's %o", format("%o", nested)],
    ["console's %O", format("%O", nested)],
    ["console's %j", format("%j", nested)],
    ["console's %d", format("%d", secret)],
    ["console's rest", format("text", secret, nested)],
    ["an error's message", new Error(`bad ${secret}`).stack ?? ""],
    ["entries", JSON.stringify(Object.entries(secret))],
    ["keys, hidden ones too", JSON.stringify(Reflect.ownKeys(secret))],
    ["a spread", JSON.stringify({ ...secret })],
    ["a structured clone", JSON.stringify(structuredClone(secret))],
    ["for in", JSON.stringify(namesIn(secret))],
  ])("%s", (_, text) => {
    expect(text).not.toContain("hush");
  });
});

function namesIn(value: object): string[] {
  const names: string[] = [];
  for (const name in value) names.push(name);
  return names;
}

test("what is printed says that there is something", () => {
  expect(`${secret} ${JSON.stringify(secret)} ${inspect(secret)}`).toBe('[secret] "[secret]" [secret]');
});
