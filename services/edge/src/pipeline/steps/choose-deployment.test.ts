import { bufferOfJson } from "@unigate/core";
import { expect, test } from "vitest";
import { chooseDeployment } from "./choose-deployment.ts";
import type { ResolvedTarget } from "./resolve-target.ts";

const deployment = (alias: string, over: object = {}) => ({ alias, deployment_id: `id-${alias}`, api_version: `v-${alias}`, ...over });
const DEFAULT = deployment("spare", { is_default: true });

function settingsFor(settings: object, model: string): unknown {
  const resolved = { target: { settingsJson: bufferOfJson(settings) } } as ResolvedTarget;
  return JSON.parse(chooseDeployment(resolved, model).target.settingsJson.toString("utf8"));
}

test.each([
  ["the one whose alias is the model", [deployment("gpt-4o"), DEFAULT], "gpt-4o", "gpt-4o"],
  ["else the default", [deployment("gpt-4o"), DEFAULT], "gpt-5", "spare"],
  ["the default of a request without a model", [deployment("gpt-4o"), DEFAULT], "", "spare"],
])("%s", (_, deployments, model, alias) => {
  const settings = { resource_name: "r", deployment_id: "old", deployments };
  expect(settingsFor(settings, model)).toEqual({ resource_name: "r", deployment_id: `id-${alias}`, api_version: `v-${alias}` });
});

test("without any, nothing changes", () => {
  expect(settingsFor({ resource_name: "r" }, "m")).toEqual({ resource_name: "r" });
  expect(settingsFor({ deployments: [] }, "m")).toEqual({ deployments: [] });
  expect(settingsFor({ deployments: [deployment("a")] }, "")).toEqual({ deployments: [deployment("a")] });
});

test("a model that none stands for is refused by name", () => {
  expect(() => settingsFor({ deployments: [deployment("gpt-4o")] }, "gpt-5")).toThrow(
    'No deployment has the alias "gpt-5", and none is the default; there are "gpt-4o".',
  );
});
