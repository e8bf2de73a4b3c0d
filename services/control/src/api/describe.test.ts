import { isObject } from "@unigate/core";
import { expect, test } from "vitest";
import { describeRoutes } from "./describe.ts";
import { apiRoutes } from "./routes.ts";

const described = describeRoutes(apiRoutes);
const nameOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;
const of = (name: string) => described.find((route) => nameOf(route) === name);

test("every route is described once, with its scopes", () => {
  expect(described.map(nameOf)).toEqual(apiRoutes.map(nameOf));
  expect(new Set(described.map(nameOf)).size).toBe(described.length);
  expect(described.map(({ scopes }) => scopes)).toEqual(apiRoutes.map(({ scopes }) => scopes));
});

test.each(described.map((route) => [nameOf(route), route] as const))("%s has schemas that say something", (_name, route) => {
  expect(route.body === null).toBe(route.method === "GET" || route.method === "DELETE");
  if (route.body !== null) expect(isObject(route.body["properties"])).toBe(true);
  expect(route.answer).toMatchObject({ type: "object" });
  for (const { name, schema } of route.query) expect([name, schema["type"]]).toEqual([name, expect.stringMatching(/^(?:string|integer)$/)]);
});

test("fields that are read under other names are described by their own", () => {
  expect(of("POST /virtual-keys")?.body).toMatchObject({
    required: expect.arrayContaining(["name", "provider"]),
    properties: { key: { maxLength: 20_000 }, cloud_region: { type: "string" }, deploymentConfig: { type: "array" } },
  });
});

test("a change may say where the thing is", () => {
  expect(of("PUT /configs/{slug}")?.body).toMatchObject({ properties: { organisation_id: {}, workspace_id: {}, config: {} } });
});
