import { expect, test } from "vitest";
import { toldChoices, whyNotTaken } from "./not-taken.ts";

const WEIGHED = { at: "config", mode: "loadbalance", sticky: false, draw: 0.25, weights: [3, 1, 0], chosen: 0 };

test.each<[string, object, string, string]>([
  ["a draw", WEIGHED, "config.targets[1]", "the draw 0.2500 among the weights 3, 1, 0 chose config.targets[0]; another request draws anew"],
  ["a weight of 0", WEIGHED, "config.targets[2]", "its weight is 0"],
  ["below a branch that was not taken", WEIGHED, "config.targets[2].targets[4]", "its weight is 0"],
  ["sticky", { ...WEIGHED, sticky: true, draw: null }, "config.targets[1]", "requests that are alike keep to config.targets[0]"],
  [
    "a condition",
    { at: "config.targets[0]", mode: "conditional", condition: 2, chosen: 1 },
    "config.targets[0].targets[10]",
    "condition 2 of config.targets[0] is true, so config.targets[0].targets[1] is taken",
  ],
  [
    "the default",
    { at: "config", mode: "conditional", condition: null, chosen: 1 },
    "config.targets[0]",
    "no condition of config is true, so its default config.targets[1] is taken",
  ],
  [
    "a breaker",
    { at: "config", mode: "breaker", open: [1], bypassed: false },
    "config.targets[1]",
    "the circuit breaker of config.targets[1] is open",
  ],
  [
    "no choice at all",
    { at: "config.targets[9]", mode: "loadbalance", chosen: 0 },
    "config.targets[1]",
    "its strategy takes the first of its targets only",
  ],
])("%s", (_, choice, optionPath, reason) => {
  expect(whyNotTaken(optionPath, toldChoices({ choices: [choice] }))).toBe(reason);
});

test("a decision without choices says nothing", () => {
  expect(toldChoices({ choices: "none" })).toEqual([]);
  expect(toldChoices({})).toEqual([]);
});
