import { describe, expect, test } from "vitest";
import { createTestApi, type TestApi } from "../management.fixture.ts";

const CANARY = "canary-of-a-webhook";
const contains = { id: "default.contains", parameters: { operator: "any", words: ["a"] } };
const webhook = (more: object = {}) => ({ id: "default.webhook", parameters: { webhookURL: "https://hooks.example/x", ...more } });

async function make(api: TestApi, body: object): Promise<string> {
  const { json, status, text } = await api.ask("POST", "/guardrails", { name: "No words", ...body });
  expect(status, text).toBe(200);
  expect(json).toEqual({ id: json["id"], slug: json["id"], version_id: `${String(json["id"])}@1`, object: "guardrail" });
  return String(json["id"]);
}
const savedOf = (api: TestApi, id: string) => api.saved.get("guardrail", "org-default", id);
function secretsOf(api: TestApi, id: string): Record<string, string> {
  const sealed = savedOf(api, id)?.sealed;
  if (!sealed) return {};
  return Object.fromEntries(
    Object.entries(api.deps.sealer.open(sealed, "org-default", `guardrail/${id}`)).map(([name, one]) => [name, one.reveal()]),
  );
}

describe("guardrails", () => {
  test("are what requests will get", async () => {
    const api = createTestApi();
    const id = await make(api, {
      checks: [
        { ...contains, name: "words" },
        { ...contains, is_enabled: false },
      ],
      actions: { deny: true },
    });
    expect(id).toMatch(/^pg-no-words-[0-9a-f]{8}$/);
    const checks = [
      { ...contains, is_enabled: true },
      { ...contains, is_enabled: false },
    ];
    expect(savedOf(api, id)?.resource).toEqual({
      id,
      name: "No words",
      organisation_id: "org-default",
      workspace_id: null,
      checks,
      actions: { deny: true },
    });
    const { json } = await api.ask("GET", `/guardrails/${id}`);
    expect(json).toMatchObject({
      id,
      slug: id,
      name: "No words",
      status: "active",
      checks: [{ ...contains, name: "words" }, contains],
      actions: { deny: true },
    });
  });

  test.each([
    ["no checks", { checks: [] }, "checks"],
    ["a check that is none", { checks: [{ id: "default.contians" }] }, "checks[0].id"],
    ["parameters that the check cannot use", { checks: [contains, { ...contains, parameters: { words: "a" } }] }, "checks[1].parameters"],
    ["an unknown field of a check", { checks: [{ ...contains, parameter: {} }] }, "checks[0].parameter"],
  ])("are refused with %s", async (_case, body, param) => {
    const answer = await createTestApi().ask("POST", "/guardrails", { name: "x", ...body });
    expect([answer.status, answer.error.param]).toEqual([400, param]);
    if (param === "checks[0].id") expect(answer.error.message).toContain('did you mean "default.contains"?');
  });

  test("keep secret parameters sealed, through changes that do not name them", async () => {
    const api = createTestApi();
    const id = await make(api, { checks: [contains, webhook({ headers: { authorization: CANARY } })] });
    const secret = { "checks[1].headers": JSON.stringify({ authorization: CANARY }) };
    expect(secretsOf(api, id)).toEqual(secret);
    await api.ask("PUT", `/guardrails/${id}`, { name: "Other", actions: { deny: false } });
    expect(secretsOf(api, id)).toEqual(secret);
    await api.ask("PUT", `/guardrails/${id}`, { checks: [contains, webhook({ timeout: 100 })] });
    expect(secretsOf(api, id)).toEqual(secret);
    await api.ask("PUT", `/guardrails/${id}`, { checks: [webhook(), contains] });
    expect(secretsOf(api, id)).toEqual({});
    await api.ask("GET", "/guardrails");
    for (const place of [...api.answers, api.saved.text()]) expect(place).not.toContain(CANARY);
  });

  test("send a stored secret nowhere else unless it is given again", async () => {
    const api = createTestApi();
    const id = await make(api, { checks: [contains, webhook({ headers: { authorization: CANARY } })] });
    const before = api.saved.text();
    const refused = await api.ask("PUT", `/guardrails/${id}`, { checks: [contains, webhook({ webhookURL: "https://evil.example" })] });
    expect([refused.status, refused.error.param]).toEqual([400, "checks[1].parameters.webhookURL"]);
    expect(refused.error.message).toContain("give headers again");
    expect(api.saved.text()).toBe(before);
    const again = webhook({ webhookURL: "https://other.example", headers: { authorization: "again" } });
    expect((await api.ask("PUT", `/guardrails/${id}`, { checks: [contains, again] })).status).toBe(200);
    expect(secretsOf(api, id)).toEqual({ "checks[1].headers": JSON.stringify({ authorization: "again" }) });
  });

  test("are listed, read and deleted; declared ones in their file only", async () => {
    const api = createTestApi();
    const id = await make(api, { checks: [contains] });
    expect((await api.ask("GET", "/guardrails")).json).toMatchObject({
      object: "list",
      total: 2,
      data: [{ id: "pg-main", source: "unigate.yaml" }, { id }],
    });
    expect((await api.ask("GET", `/guardrails?ids=${id},pg-none`)).json).toMatchObject({ total: 1 });
    for (const method of ["PUT", "DELETE"]) expect((await api.ask(method, "/guardrails/pg-main", "{}")).status).toBe(409);
    expect((await api.ask("DELETE", `/guardrails/${id}`)).status).toBe(200);
    expect((await api.ask("DELETE", `/guardrails/${id}`)).status).toBe(404);
    expect((await api.ask("GET", "/guardrails")).json).toMatchObject({ total: 1 });
  });

  test("of the whole organisation have a scope of their own", async () => {
    const api = createTestApi();
    const caller = await api.key(["organisation_guardrails.create"], { workspace_id: null, type: "organisation-service" });
    const body = { name: "x", checks: [contains] };
    expect((await api.ask("POST", "/guardrails", body, caller)).status).toBe(200);
    const refused = await api.ask("POST", "/guardrails", { ...body, workspace_id: "ws-default" }, caller);
    expect([refused.status, refused.error.message]).toEqual([403, expect.stringContaining('"guardrails.create"')]);
  });
});
