import type { JsonObject } from "@unigate/core";
import { expect, test } from "vitest";
import { createTestApi, NOW } from "../management.fixture.ts";

const PATH = "/policies/rate-limits";
const policy = (more: object = {}) => ({
  name: "Teams",
  conditions: [
    { key: "model", value: "@main/*" },
    { key: "metadata.team", value: ["a", "b"], excludes: true },
  ],
  group_by: [{ key: "api_key" }],
  type: "requests",
  unit: "rpm",
  value: 100,
  ...more,
});

test("a policy is made, read, changed and archived", async () => {
  const api = createTestApi();
  const { json, status } = await api.ask("POST", PATH, policy());
  expect([status, json]).toEqual([200, { id: expect.stringMatching(/^[0-9a-f-]{36}$/), object: "policy_usage_limits" }]);
  const id = String(json["id"]);
  const resource = {
    id,
    name: "Teams",
    organisation_id: "org-default",
    workspace_id: null,
    conditions: [
      { key: "model", value: "@main/*", excludes: false },
      { key: "metadata.team", value: ["a", "b"], excludes: true },
    ],
    group_by: [{ key: "api_key" }],
    type: "requests",
    unit: "rpm",
    value: 100,
    status: "active",
    on_store_loss: "open",
  };
  const saved = () => api.saved.get("rate_limit_policy", "org-default", id)?.resource;
  expect(saved()).toEqual(resource);
  expect((await api.ask("GET", `${PATH}/${id}`)).json).toEqual({
    ...resource,
    conditions: [
      { key: "model", value: "@main/*" },
      { key: "metadata.team", value: ["a", "b"], excludes: true },
    ],
    object: "policy_usage_limits",
    source: null,
    created_at: new Date(NOW).toISOString(),
    last_updated_at: new Date(NOW).toISOString(),
  });
  await api.ask("PUT", `${PATH}/${id}`, { unit: "rpw", value: 0, name: null });
  expect(saved()).toEqual({ ...resource, unit: "rpw", value: 0, name: null });
  expect((await api.ask("PUT", `${PATH}/${id}`, { unit: null })).error.param).toBe("unit");

  expect((await api.ask("DELETE", `${PATH}/${id}`)).status).toBe(200);
  expect(saved()).toMatchObject({ status: "archived" });
  expect((await api.ask("DELETE", `${PATH}/${id}`)).status).toBe(404);
  expect((await api.ask("PUT", `${PATH}/${id}`, { value: 1 })).status).toBe(409);
  expect((await api.ask("GET", PATH)).json).toMatchObject({ total: 0 });
  expect((await api.ask("GET", `${PATH}?status=archived`)).json).toMatchObject({ object: "list", total: 1, data: [{ id }] });
});

test.each([
  ["no conditions", { conditions: [] }, "conditions"],
  ["no group", { group_by: undefined }, "group_by"],
  ["a key that is none", { conditions: [{ key: "modle", value: "x" }] }, "conditions[0].key"],
  ["a condition without a value", { conditions: [{ key: "model" }] }, "conditions[0].value"],
  ["a negative value", { value: -1 }, "value"],
  ["half a request", { value: 1.5 }, "value"],
  ["requests per second", { unit: "rps" }, "unit"],
  ["no unit", { unit: undefined }, "unit"],
  ["a unit of concurrency", { type: "concurrency" }, "unit"],
  ["a long name", { name: "x".repeat(256) }, "name"],
  ["another target", { target: "mcp_tools" }, "target"],
  ["a status", { status: "archived" }, "status"],
])("a policy is refused with %s", async (_case, more, param) => {
  const answer = await createTestApi().ask("POST", PATH, policy(more));
  expect([answer.status, answer.error.code, answer.error.param]).toEqual([400, "invalid_request", param]);
});

test("a list is filtered and paged", async () => {
  const api = createTestApi();
  const bodies = [{}, { type: "tokens" }, { unit: "rpd" }, { workspace_id: "ws-default" }, { type: "concurrency", unit: undefined }];
  for (const body of bodies) expect((await api.ask("POST", PATH, policy(body))).status).toBe(200);
  const total = async (query: string): Promise<unknown> => (await api.ask("GET", `${PATH}?${query}`)).json["total"];
  expect(await total("")).toBe(5);
  expect(await total("type=tokens")).toBe(1);
  expect(await total("type=requests&unit=rpm")).toBe(2);
  expect(await total("workspace_id=ws-default")).toBe(1);
  const page = (await api.ask("GET", `${PATH}?page_size=2&current_page=2`)).json as { data: JsonObject[] };
  expect(page.data).toHaveLength(1);
  expect((await api.ask("GET", `${PATH}?page_size=0`)).json).toMatchObject({ total: 5, data: [] });
  expect((await api.ask("GET", `${PATH}?page_size=5000`)).status).toBe(200);
  for (const query of ["status=gone", "type=x", "unit=rps", "page_size=-1", "search=a"])
    expect((await api.ask("GET", `${PATH}?${query}`)).status, query).toBe(400);
  expect((await api.ask("GET", `${PATH}?workspace_id=ws-none`)).status).toBe(404);
});
