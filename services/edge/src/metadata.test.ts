import { expect, test } from "vitest";
import { mergeMetadata } from "./metadata.ts";

const NONE = {};
const defaults = (metadata: Record<string, string>) => ({ config_id: null, metadata, allow_config_override: true });

test.each<[string, Record<string, string>, { user_id?: string; metadata: Record<string, string> }, Record<string, string>, object]>([
  ["nothing", {}, { metadata: {} }, {}, {}],
  ["the request alone", { a: "request" }, { metadata: {} }, {}, { a: "request" }],
  ["the key over the request", { a: "request", b: "request" }, { metadata: { a: "key" } }, {}, { a: "key", b: "request" }],
  ["the workspace over the key", { a: "request" }, { metadata: { a: "key", b: "key" } }, { a: "workspace" }, { a: "workspace", b: "key" }],
  ["the workspace over the request", { a: "request" }, { metadata: {} }, { a: "workspace" }, { a: "workspace" }],
  ["the key's user over the request's", { _user: "somebody" }, { user_id: "u-1", metadata: {} }, {}, { _user: "u-1" }],
  ["what the key says over its user", {}, { user_id: "u-1", metadata: { _user: "team" } }, {}, { _user: "team" }],
])("%s", (_, request, { metadata, ...user }, workspace, merged) => {
  expect(mergeMetadata(request, { ...user, defaults: defaults(metadata) }, workspace)).toEqual(merged);
});

test("what the client sent is used as it is when nobody adds to it", () => {
  const request = { a: "request" };
  expect(mergeMetadata(request, { defaults: defaults(NONE) }, NONE)).toBe(request);
});
