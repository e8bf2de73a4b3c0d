import { type GuardrailResource, isObject, Secret } from "@unigate/core";
import { createSealer, SecretError } from "@unigate/secrets";
import { expect, test } from "vitest";
import { savedChecks } from "./saved-checks.ts";

const sealer = createSealer(Buffer.alloc(32, 7));

const SAVED: GuardrailResource = {
  id: "pg-1",
  name: "pg-1",
  organisation_id: "org-a",
  workspace_id: null,
  checks: [
    { id: "default.contains", parameters: { words: ["a"] }, is_enabled: true },
    { id: "default.webhook", parameters: { webhookURL: "https://example.com" }, is_enabled: true },
  ],
  actions: {},
};

test("without credentials the checks are as they were saved", () => {
  expect(savedChecks(SAVED, undefined, sealer)).toBe(SAVED.checks);
});

test("credentials come to their parameters, and nothing else changes", () => {
  const sealed = sealer.seal({ "checks[1].headers": '{"a":"b"}', "checks[9].headers": "{}", nonsense: "x" }, "org-a", "guardrail/pg-1");
  const checks = savedChecks(SAVED, sealed, sealer);
  expect(checks[0]).toEqual(SAVED.checks[0]);
  expect(checks[1]).toMatchObject({ id: "default.webhook", parameters: { webhookURL: "https://example.com" } });
  const parameters = checks[1]?.["parameters"];
  const headers = isObject(parameters) ? parameters["headers"] : null;
  expect(headers instanceof Secret ? headers.reveal() : null).toBe('{"a":"b"}');
  expect(JSON.stringify(checks)).not.toContain('"b"');
  expect(SAVED.checks[1]?.parameters).toEqual({ webhookURL: "https://example.com" });
});

test.each([
  ["org-b", "guardrail/pg-1"],
  ["org-a", "guardrail/pg-2"],
  ["org-a", "pg-1"],
])("credentials sealed for %s %s are not opened", (organisation, place) => {
  const sealed = sealer.seal({ "checks[1].headers": "{}" }, organisation, place);
  expect(() => savedChecks(SAVED, sealed, sealer)).toThrow(SecretError);
});
