import { expect, test } from "vitest";
import { mayUseModel } from "./model-access.ts";

test.each([
  ["without a rule", undefined, [true, true, true]],
  ["with others", { enabled: ["on"], disabled: ["off"], others: true }, [true, false, true]],
  ["without others", { enabled: ["on"], disabled: ["off"], others: false }, [true, false, false]],
] as const)("%s", (_case, access, expected) => {
  expect(["on", "off", "other"].map((model) => mayUseModel(access, model))).toEqual(expected);
});
