import { expect, test } from "vitest";
import { createUnderWay } from "./under-way.ts";

const at = (optionPath: string) => ({
  tenant: { organisationId: "org-a", workspaceId: "ws-a" },
  configId: "pc-a",
  configHash: Buffer.alloc(32),
  optionPath,
});

function setUp() {
  const underWay = createUnderWay(() => 7);
  let told = 0;
  underWay.onChange(() => {
    told += 1;
  });
  return { underWay, told: () => told, counts: () => underWay.take().map(({ optionPath, count }) => [optionPath, count]) };
}

test("tells numbers that changed, the last of them a 0", () => {
  const { underWay, counts, told } = setUp();
  const ends = [underWay.begin(at("one")), underWay.begin(at("one")), underWay.begin(at("two"))];
  expect(counts()).toEqual([
    ["one", 2],
    ["two", 1],
  ]);
  expect(counts()).toEqual([]);
  ends[0]?.();
  ends[0]?.();
  expect(counts()).toEqual([["one", 1]]);
  ends[1]?.();
  expect(counts()).toEqual([["one", 0]]);
  expect(told()).toBe(5);
  underWay.begin(at("one"));
  expect(counts()).toEqual([["one", 1]]);
  underWay.stop();
});

test("targets are bounded, and so is one report", () => {
  const { underWay, counts } = setUp();
  const ends = Array.from({ length: 6_000 }, (_, index) => underWay.begin(at(String(index))));
  let all = 0;
  for (let taken = counts(); taken.length > 0; taken = counts()) {
    expect(taken.length).toBeLessThanOrEqual(500);
    all += taken.length;
  }
  expect(all).toBe(5_000);
  for (const end of ends) end();
  for (let taken = counts(); taken.length > 0; taken = counts()) all -= taken.length;
  expect(all).toBe(0);
  underWay.stop();
});
