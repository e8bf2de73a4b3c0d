import type { JsonObject, ModelAccess } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { createTestApi, type TestApi } from "../management.fixture.ts";

const MODELS = "/integrations/company/models";

/** An integration with a provider of its own and one that a team made of it. */
async function company(): Promise<TestApi> {
  const api = createTestApi();
  const { json } = await api.ask("POST", "/integrations", { name: "c", slug: "company", ai_provider_id: "openai", key: "sk-1" });
  await api.ask("POST", "/providers", { name: "t", slug: "team", integration_id: json["id"] });
  return api;
}
const accessOf = (api: TestApi, slug: string): ModelAccess | undefined =>
  api.saved.get("provider", "org-default", slug)?.resource?.["model_access"] as ModelAccess | undefined;
async function enabledOf(api: TestApi): Promise<unknown> {
  const { models } = (await api.ask("GET", MODELS)).json as { models: JsonObject[] };
  return Object.fromEntries(models.map(({ slug, enabled }) => [slug, enabled]));
}

describe("models of an integration", () => {
  test("are all of the catalogue's until something is said", async () => {
    const api = await company();
    const row = { enabled: true, is_custom: false, is_finetune: false, base_model_slug: null };
    expect((await api.ask("GET", MODELS)).json).toEqual({
      object: "list",
      total: 2,
      allow_all_models: true,
      models: [
        { slug: "gpt-a", ...row },
        { slug: "gpt-b", ...row },
      ],
    });
    expect(accessOf(api, "team")).toBeUndefined();
  });

  test("are switched for every provider of it, those made later too, and go back when they are deleted", async () => {
    const api = await company();
    const own = { slug: "own", enabled: true, is_finetune: true, base_model_slug: "gpt-a" };
    const answer = await api.ask("PUT", MODELS, { models: [{ slug: "gpt-b", enabled: false }, own] });
    expect([answer.status, answer.json]).toEqual([200, {}]);
    await api.ask("POST", "/providers", { name: "l", slug: "later", integration_id: "company" });
    for (const slug of ["company", "team", "later"])
      expect(accessOf(api, slug)).toEqual({ enabled: ["own"], disabled: ["gpt-b"], others: true });
    expect((await api.ask("GET", MODELS)).json["models"]).toContainEqual({ ...own, is_custom: true });

    await api.ask("PUT", MODELS, { models: [{ slug: "own", enabled: false }], allow_all_models: false });
    expect(accessOf(api, "team")).toEqual({ enabled: [], disabled: ["gpt-b", "own"], others: false });
    expect(await enabledOf(api)).toEqual({ "gpt-a": false, "gpt-b": false, own: false });
    expect((await api.ask("GET", MODELS)).json["models"]).toContainEqual({ ...own, enabled: false, is_custom: true });

    expect((await api.ask("DELETE", `${MODELS}?slugs=own,gpt-b`)).json).toEqual({ success: true });
    await api.ask("PUT", MODELS, { models: [], allow_all_models: true });
    expect(accessOf(api, "team")).toEqual({ enabled: [], disabled: [], others: true });
    expect(await enabledOf(api)).toEqual({ "gpt-a": true, "gpt-b": true });
  });

  test("stay what they are through every other change", async () => {
    const api = await company();
    await api.ask("PUT", MODELS, { models: [{ slug: "gpt-b", enabled: false }] });
    const said = accessOf(api, "team");
    expect(said?.disabled).toEqual(["gpt-b"]);
    for (const [path, body] of [
      ["/integrations/company", { key: "sk-2" }],
      ["/virtual-keys/team", { name: "x", rate_limits: [] }],
      ["/providers/team", { name: "y" }],
      ["/integrations/company/workspaces", { global_workspace_access: { enabled: true } }],
    ] as const) {
      expect((await api.ask("PUT", path, body)).status).toBe(200);
      expect(accessOf(api, "team"), path).toEqual(said);
    }
  });

  test("a provider that is made while models change has the new rules", async () => {
    const api = await company();
    api.saved.before = async () => void (await api.ask("PUT", MODELS, { models: [{ slug: "gpt-b", enabled: false }] }));
    expect((await api.ask("POST", "/providers", { name: "n", slug: "new", integration_id: "company" })).status).toBe(200);
    expect(accessOf(api, "new")?.disabled).toEqual(["gpt-b"]);
  });

  test.each([
    ["no list", {}, "models"],
    ["a model twice", { models: [1, 2].map(() => ({ slug: "a", enabled: true })) }, "models[1].slug"],
    ["no word whether it is on", { models: [{ slug: "a" }] }, "models[0].enabled"],
    ["prices", { models: [{ slug: "a", enabled: true, pricing_config: { type: "static" } }] }, "models[0].pricing_config"],
    ["an address", { models: [{ slug: "a", enabled: true, configurations: { custom_host: "https://a" } }] }, "models[0].configurations"],
    ["too many", { models: Array.from({ length: 1_001 }, (_, index) => ({ slug: `m${index}`, enabled: true })) }, "models"],
  ])("are refused with %s", async (_case, body, param) => {
    const api = await company();
    const before = api.saved.text();
    const answer = await api.ask("PUT", MODELS, body);
    expect([answer.status, answer.error.param]).toEqual([400, param]);
    expect(api.saved.text()).toBe(before);
  });

  test("more than the most do not come in by parts, and an unknown one is not deleted", async () => {
    const api = await company();
    const part = (from: number, count: number) => ({
      models: Array.from({ length: count }, (_, index) => ({ slug: `m${from + index}`, enabled: true })),
    });
    expect((await api.ask("PUT", MODELS, part(0, 1_000))).status).toBe(200);
    expect((await api.ask("PUT", MODELS, part(1_000, 1))).error.param).toBe("models");
    expect((await api.ask("DELETE", `${MODELS}?slugs=m1,nothing`)).status).toBe(404);
    expect((await api.ask("DELETE", MODELS)).error.param).toBe("slugs");
  });

  test("rights go by the place of the integration, and another organisation sees none", async () => {
    const api = await company();
    const workspace = { workspace_id: null, type: "organisation-service" } as const;
    const own = await api.key(["workspace_integrations.read", "workspace_integrations.update"], workspace);
    expect((await api.ask("GET", MODELS, undefined, own)).status).toBe(403);
    expect((await api.ask("PUT", MODELS, { models: [] }, own)).status).toBe(403);
    const far = await api.key(["*"], { organisation_id: "org-far", ...workspace });
    for (const path of [MODELS, "/integrations/company/workspaces"]) {
      expect((await api.ask("GET", path, undefined, far)).status).toBe(404);
      expect((await api.ask("PUT", path, { models: [], workspaces: [] }, far)).status).not.toBe(200);
    }
  });
});
