import { describe, expect, test } from "vitest";
import type { PolicyCondition } from "../resources.ts";
import { matchPolicies, policiesOf } from "./compile.ts";
import { context, policy } from "./policies.fixture.ts";

type Conditions = readonly (readonly [key: string, value: string | readonly string[], excludes?: boolean])[];

function conditions(list: Conditions): PolicyCondition[] {
  return list.map(([key, value, excludes = false]) => ({ key, value, excludes }));
}

function matches(over: Parameters<typeof policy>[0], of = context()): string[] {
  const { request, target } = policiesOf({ rate_limits: [policy(over)], usage_limits: [] });
  return [...matchPolicies(request, of), ...matchPolicies(target, of)].map(({ bucket }) => bucket);
}

describe("conditions", () => {
  const teams = context({ metadata: { team: "web", empty: "" } });
  const inline = context({ subject: { slug: "", configId: "sha256:ab", model: "o/m" } });
  const nothing = context({ subject: { slug: "", provider: "", model: "" } });

  test.each<[Conditions, typeof teams, boolean]>([
    [[], teams, true],
    [[["api_key", "key-1"]], teams, true],
    [[["api_key", "key-2"]], teams, false],
    [[["api_key", ["key-2", "key-1"]]], teams, true],
    [[["api_key", "*"]], teams, true],
    [[["api_key", "*", true]], teams, false],
    [[["api_key", "key-2", true]], teams, true],
    [[["api_key", ["key-2", "key-1"], true]], teams, false],
    [[["organisation_id", "org"]], teams, true],
    [[["workspace_id", "ws"]], teams, true],
    [[["workspace_id", "other"]], teams, false],
    [[["virtual_key", "main"]], teams, true],
    [[["virtual_key", "*"]], inline, false],
    [[["virtual_key", "main", true]], inline, false],
    [[["provider", "openai"]], teams, true],
    [[["provider", "openai"]], inline, true],
    [[["config", "pc-chat"]], teams, true],
    [[["config", "*"]], inline, false],
    [[["prompt", "*"]], teams, false],
    [[["prompt", "pp-a", true]], teams, false],
    [[["model", "@main/gpt-4.1"]], teams, true],
    [[["model", "@main/gpt-4"]], teams, false],
    [[["model", "gpt-4.1"]], teams, true],
    [[["model", "@main/*"]], teams, true],
    [[["model", "@mai/*"]], teams, false],
    [[["model", "@other/*", true]], teams, true],
    [[["model", "@openai/*"]], inline, true],
    [[["model", "o/*"]], inline, true],
    [[["model", "p/*"]], inline, false],
    [[["model", "*"]], nothing, false],
    [[["model", "@main/*", true]], nothing, false],
    [[["endpoint_type", "chatComplete"]], teams, true],
    [[["endpoint_type", ["embed", "proxy"]]], teams, false],
    [[["metadata.team", "web"]], teams, true],
    [[["metadata.team", ["app", "*"]]], teams, true],
    [[["metadata.team", "web", true]], teams, false],
    [[["metadata.absent", "x", true]], teams, false],
    [[["metadata.empty", "*"]], teams, false],
    [[["metadata.toString", "*"]], teams, false],
    [[["something_new", "*"]], teams, false],
    [[["toString", "*"]], teams, false],
    [
      [
        ["api_key", "key-1"],
        ["metadata.team", "web"],
      ],
      teams,
      true,
    ],
    [
      [
        ["api_key", "key-1"],
        ["metadata.team", "app"],
      ],
      teams,
      false,
    ],
  ])("%j", (list, of, expected) => {
    expect(matches({ conditions: conditions(list) }, of)).toEqual(expected ? ["default"] : []);
  });
});

test.each([
  ["/embeddings", "embed"],
  ["/images/generations", "imageGenerate"],
  ["/files/f-1", "proxy"],
  ["toString", "proxy"],
])("the endpoint type of %s is %s", (path, type) => {
  const of = context({ path });
  expect(matches({ conditions: conditions([["endpoint_type", type]]) }, of)).toEqual(["default"]);
});

test("a workspace's policy counts there only; an archived one, and the second of an id, nowhere", () => {
  expect(matches({ workspace_id: "ws" })).toEqual(["default"]);
  expect(matches({ workspace_id: "other" })).toEqual([]);
  expect(matches({ status: "archived" })).toEqual([]);
  const twice = policiesOf({ rate_limits: [policy({ value: 1 }), policy({ value: 2 })], usage_limits: [] });
  expect(twice.request.map(({ policy: { value } }) => value)).toEqual([1]);
});

test.each([
  [[], [], "request"],
  [["api_key", "config", "endpoint_type", "metadata.team"], ["workspace_id", "organisation_id"], "request"],
  [["model"], [], "target"],
  [["virtual_key"], [], "target"],
  [["provider"], [], "target"],
  [["prompt"], [], "target"],
  [["api_key"], ["model"], "target"],
] as const)("what looks at %j and groups by %j counts each %s", (keys, groups, expected) => {
  const set = policy({ conditions: conditions(keys.map((key) => [key, "x"])), group_by: groups.map((key) => ({ key })) });
  const { request, target } = policiesOf({ rate_limits: [set], usage_limits: [] });
  expect([request.length, target.length]).toEqual(expected === "request" ? [1, 0] : [0, 1]);
});

test("a set is compiled once, until it is another one", () => {
  const set = { rate_limits: [policy()], usage_limits: [] } as const;
  expect(policiesOf(set)).toBe(policiesOf(set));
  expect(policiesOf({ ...set })).not.toBe(policiesOf(set));
});
