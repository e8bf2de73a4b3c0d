import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hashOfKey, looksLikeGatewayKey, makeGatewayKey } from "./gateway-key.ts";

describe("gateway key", () => {
  test("a made key has the form, and no two are alike", () => {
    const keys = Array.from({ length: 200 }, makeGatewayKey);
    expect(new Set(keys).size).toBe(200);
    for (const key of keys) {
      expect(key).toMatch(/^ugw-[A-Za-z0-9_-]{49}$/);
      expect(looksLikeGatewayKey(key)).toBe(true);
    }
  });

  test("the checksum is fixed for ever", () => {
    expect(looksLikeGatewayKey(`ugw-${"A".repeat(43)}qMKQKw`)).toBe(true);
  });

  test("one wrong character is always noticed", () => {
    const key = makeGatewayKey();
    fc.assert(
      fc.property(fc.nat(key.length - 1), fc.constantFrom("a", "B", "0", "-", "_", " ", ".", "\n"), (at, character) => {
        fc.pre(key[at] !== character);
        expect(looksLikeGatewayKey(key.slice(0, at) + character + key.slice(at + 1))).toBe(false);
      }),
    );
  });

  test.each(["", "ugw-", "sk-1234", `${makeGatewayKey()}x`, ` ${makeGatewayKey()}`, makeGatewayKey().toUpperCase()])(
    "%j is no key",
    (text) => {
      expect(looksLikeGatewayKey(text)).toBe(false);
    },
  );

  test("the hash is SHA-256 of the whole text", () => {
    expect(hashOfKey("ugw-a").toString("hex")).toBe(createHash("sha256").update("ugw-a").digest("hex"));
  });
});
