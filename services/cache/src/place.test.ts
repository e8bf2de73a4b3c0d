import { expect, test } from "vitest";
import { fillToken, placeOf, placeOfToken, storeKey } from "./place.ts";

const KEY = Buffer.alloc(32, 7);

test("a token leads back to its place", () => {
  const place = placeOf("org-a", "shop", KEY);
  expect(placeOfToken("org-a", fillToken(place))).toEqual(place);
});

test("organisation, partition and key each make another place", () => {
  const keys = [
    placeOf("org-a", "", KEY),
    placeOf("org-b", "", KEY),
    placeOf("org-a", "x", KEY),
    placeOf("org-a", "", Buffer.alloc(32, 8)),
    placeOf("org-a", "x", KEY.subarray(1)),
  ].map(storeKey);
  expect(new Set(keys).size).toBe(keys.length);
});

test("another organisation's token, a cut one and noise name no place", () => {
  const token = fillToken(placeOf("org-a", "", KEY));
  for (const bad of ["", "x", token.slice(2), token.slice(0, -2), `${token}AA`, `B${token.slice(1)}`]) {
    expect(placeOfToken("org-a", bad)).toBeNull();
  }
  expect(placeOfToken("org-b", token)).toBeNull();
});
