import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import type { Sealed } from "@unigate/contracts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sealedFromText, sealedToText } from "./sealed-text.ts";
import { createSealer, type Sealer } from "./sealer.ts";
import { SecretError } from "./secret-error.ts";

const SECRET = "sk-very-secret-value-1234567890";
const master = randomBytes(32);

function sealedExample(sealer: Sealer): Sealed {
  return sealer.seal({ api_key: SECRET }, "org-default", "provider/openai");
}

function failure(run: () => unknown): SecretError {
  try {
    run();
  } catch (reason) {
    if (reason instanceof SecretError) return reason;
    throw reason;
  }
  throw new Error("nothing was thrown");
}

describe("sealer", () => {
  test("gives back every field it was given, through the wire form too", () => {
    const sealer = createSealer(master);
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), fc.string({ unit: "grapheme" })), fc.string(), (plain, resource) => {
        const sealed = sealedFromText(sealedToText(sealer.seal(plain, "org-a", resource)));
        const opened = sealer.open(sealed, "org-a", resource);
        expect(Object.fromEntries(Object.entries(opened).map(([name, secret]) => [name, secret.reveal()]))).toEqual({ ...plain });
      }),
      { numRuns: 50 },
    );
  });

  test("never writes the same bytes twice and never shows the secret", () => {
    const sealer = createSealer(master);
    const [first, second] = [sealedExample(sealer), sealedExample(sealer)];
    expect(first.ciphertext.equals(second.ciphertext)).toBe(false);
    expect(first.wrappedKey.equals(second.wrappedKey)).toBe(false);
    expect(sealedToText(first)).not.toContain(SECRET);
    expect(inspect(sealer.open(first, "org-default", "provider/openai"))).not.toContain(SECRET);
  });

  test.each([
    ["another organisation", "org-other", "provider/openai"],
    ["another resource", "org-default", "provider/other"],
    ["the slash shifted", "org-default/provider", "openai"],
  ])("a value moved to %s is refused as moved", (_case, organisation, resource) => {
    const sealer = createSealer(master);
    const sealed = sealedExample(sealer);
    sealer.open(sealed, "org-default", "provider/openai");
    const error = failure(() => sealer.open(sealed, organisation, resource));
    expect(error.code).toBe("moved");
  });

  test("another master key is named by its id", () => {
    const [sealer, other] = [createSealer(master), createSealer(randomBytes(32))];
    const error = failure(() => other.open(sealedExample(sealer), "org-default", "provider/openai"));
    expect(error.code).toBe("wrong_master_key");
    expect(error.message).toContain(sealer.keyId);
    expect(error.message).toContain(other.keyId);
  });

  test.each(["nonce", "ciphertext", "wrappedKey"] as const)("any changed bit of %s is refused as tampered, cached or not", (field) => {
    const sealer = createSealer(master);
    const sealed = sealedExample(sealer);
    sealer.open(sealed, "org-default", "provider/openai");
    for (let index = 0; index < sealed[field].length; index++) {
      const bytes = Buffer.from(sealed[field]);
      bytes[index] = (bytes[index] ?? 0) ^ 1;
      const error = failure(() => sealer.open({ ...sealed, [field]: bytes }, "org-default", "provider/openai"));
      expect(error.code).toBe("tampered");
      expect(error.message).not.toContain(SECRET);
    }
  });

  test("any bytes at all fail as tampered or wrong key, never otherwise", () => {
    const sealer = createSealer(master);
    const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(
        fc.record({ keyId: fc.constantFrom(sealer.keyId, "x"), nonce: bytes, ciphertext: bytes, wrappedKey: bytes }),
        (sealed) => {
          expect(["tampered", "wrong_master_key"]).toContain(failure(() => sealer.open(sealed, "o", "r")).code);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("an opened value is kept, at most as many as asked", () => {
    const sealer = createSealer(master, { cacheSize: 2 });
    const opener = (id: string) => {
      const sealed = sealer.seal({ api_key: id }, "org", id);
      return () => sealer.open({ ...sealed }, "org", id);
    };
    const [openA, openB, openC] = [opener("a"), opener("b"), opener("c")];
    const [a, b] = [openA(), openB()];
    expect(openA()).toBe(a);
    openC();
    expect(openA()).toBe(a);
    expect(openB()).not.toBe(b);
    expect(openB()["api_key"]?.reveal()).toBe("b");
  });

  test("the same message opens to the same value, but only for the place it was opened at", () => {
    const sealer = createSealer(master, { cacheSize: 1 });
    const sealed = sealer.seal({ api_key: "a" }, "org", "id");
    expect(sealer.open(sealed, "org", "id")).toBe(sealer.open(sealed, "org", "id"));
    expect(failure(() => sealer.open(sealed, "org", "other")).code).toBe("moved");
  });

  test("an organisation id with a slash is refused, so that no two places share a text", () => {
    expect(failure(() => createSealer(master).seal({}, "org/a", "b")).code).toBe("bad_place");
  });

  test("a master key of another length is refused", () => {
    expect(failure(() => createSealer(Buffer.alloc(16))).message).toBe("a master key has 32 bytes; this one has 16");
  });

  test("a fingerprint is the same for the same text and key only", () => {
    const [sealer, other] = [createSealer(master), createSealer(randomBytes(32))];
    expect(sealer.fingerprint("a")).toBe(createSealer(master).fingerprint("a"));
    expect(sealer.fingerprint("a")).not.toBe(sealer.fingerprint("b"));
    expect(sealer.fingerprint("a")).not.toBe(other.fingerprint("a"));
  });

  test("a text that is no sealed value is refused", () => {
    expect(failure(() => sealedFromText("////")).code).toBe("tampered");
  });
});
