import { array, assert, constantFrom, property } from "fast-check";
import { expect, test } from "vitest";
import { meshServicesOf } from "./certificate-names.ts";

test.each<[string | undefined, readonly string[]]>([
  [undefined, []],
  ["", []],
  ["URI:spiffe://unigate/edge", ["edge"]],
  ["DNS:localhost, URI:spiffe://unigate/cache, IP Address:127.0.0.1, URI:spiffe://unigate/policy", ["cache", "policy"]],
  ["URI:spiffe://unigate/edge, URI:spiffe://unigate/edge", ["edge"]],
  ["DNS:spiffe://unigate/edge", []],
  ["URI:spiffe://unigate/edge/more", []],
  ["URI:spiffe://unigate/", []],
  ["URI:spiffe://unigate/Edge", []],
  ["URI:spiffe://other/edge", []],
  ["URI:https://unigate/edge", []],
  ['URI:"spiffe://unigate/edge"', []],
  ['URI:"spiffe://x, URI:spiffe://unigate/edge, URI:y", URI:spiffe://unigate/cache', ["cache"]],
  ['URI:"x\\", URI:spiffe://unigate/edge, URI:\\"y"', []],
  ['URI:spiffe://unigate/edge, URI:"open', []],
  ["URI:spiffe://unigate/edge,URI:spiffe://unigate/cache", []],
])("%j is for %j", (text, services) => {
  expect(meshServicesOf(text)).toEqual(services);
});

test("a name in quotes never makes a caller of somebody else", () => {
  const piece = constantFrom("spiffe://unigate/edge", ", ", "URI:", '"', "\\", ",", " ", "x");
  assert(
    property(array(piece, { maxLength: 12 }), (pieces) => {
      expect(meshServicesOf(`URI:${JSON.stringify(pieces.join(""))}`)).toEqual([]);
    }),
  );
});
