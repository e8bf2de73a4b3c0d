import { Secret } from "@unigate/core";
import { expect, test } from "vitest";
import { meshToken, type Peer } from "./mesh-token.ts";

function peer(header: Peer["header"]): Peer {
  return { header, address: () => "127.0.0.1:1", services: null };
}

test.each(["", "two words", "line\nbreak", "ünicode"])("%j cannot be a token", (text) => {
  expect(() => meshToken(new Secret(text))).toThrow("must be printable ASCII");
});

test.each([
  ["Bearer right", true],
  ["Bearer wrong", false],
  ["bearer right", false],
  ["Bearer right ", false],
  ["right", false],
  ["", false],
  [undefined, false],
])("authorization %j is let in: %s", (value, letIn) => {
  const { authenticate } = meshToken(new Secret("right"));
  const refused = authenticate(
    peer((name) => (name === "authorization" ? value : "Bearer right")),
    "/a.B/C",
  );
  expect(refused === null).toBe(letIn);
  if (refused !== null) expect([refused.code, refused.message.includes("right")]).toEqual(["UNAUTHENTICATED", false]);
});

test("the caller's side sends what the server's side expects", () => {
  const { interceptor, authenticate } = meshToken(new Secret("right"));
  const headers = new Map<string, string>();
  interceptor(headers, "/a.B/C");
  expect(
    authenticate(
      peer((name) => headers.get(name)),
      "/a.B/C",
    ),
  ).toBeNull();
});
