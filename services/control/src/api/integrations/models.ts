import { GatewayError, type JsonObject, mayUseModel } from "@unigate/core";
import { z } from "zod";
import type { SavedRow } from "../../saved/types.ts";
import { changed, deleted } from "../answers.ts";
import { type Asked, endpoint } from "../asked.ts";
import { requireScope } from "../caller.ts";
import { anyQuery, notYet, text } from "../fields.ts";
import { invalidField } from "../read-fields.ts";
import { changeableOf, thingOf } from "../things.ts";
import { nextRow, write } from "../write.ts";
import { modelsAnswer } from "./answers.ts";
import { type ModelRule, type ModelRules, modelAccessOf, modelRulesOf } from "./model-rules.ts";
import { integrationOf, providersOf, scopesFor } from "./read.ts";

const MOST_MODELS = 1_000;

const model = z.strictObject({
  slug: text,
  enabled: z.boolean(),
  is_custom: z.boolean().optional(),
  is_finetune: z.boolean().optional(),
  base_model_slug: text.nullable().optional(),
  configurations: notYet("addresses of single models"),
  custom_headers: notYet("headers of single models"),
  pricing_config: notYet("prices of single models"),
});
const body = z.strictObject({ models: z.array(model).max(MOST_MODELS), allow_all_models: z.boolean().optional() });
const namedModels = z.strictObject({ organisation_id: text.optional(), slugs: z.string().min(1).max(100_000) });

/** GET /integrations/{slug}/models: those of the catalogue and those that were named, with what holds for each. */
export const listModels = endpoint({ summary: "Models of an integration", body: null, query: anyQuery, answer: modelsAnswer }, (asked) => {
  const { row } = thingOf(asked, "integration", asked.parameters["slug"] ?? "");
  requireScope(asked.caller, scopesFor(row, "read"));
  const rules = modelRulesOf(row);
  const access = modelAccessOf(row) ?? undefined;
  const rulesBySlug = new Map(rules?.models.map((rule) => [rule.slug, rule]));
  const models = [...new Set([...knownModels(asked, row), ...rulesBySlug.keys()])].map((slug): JsonObject => {
    const { is_custom = false, is_finetune = false, base_model_slug = null } = rulesBySlug.get(slug) ?? {};
    return { slug, enabled: mayUseModel(access, slug), is_custom, is_finetune, base_model_slug };
  });
  return { object: "list", total: models.length, allow_all_models: rules?.allow_all_models ?? true, models };
});

/** PUT /integrations/{slug}/models: what is said of a model stays until it is said otherwise or deleted. */
export const updateModels = endpoint(
  { summary: "Switch models of an integration on and off", body, query: anyQuery, answer: changed },
  async (asked) => {
    const row = changeableIntegration(asked);
    const known = new Set(knownModels(asked, row));
    const before = modelRulesOf(row);
    const rules = new Map(before?.models.map((rule) => [rule.slug, rule]));
    const named = new Set<string>();
    for (const [index, { slug, enabled, ...said }] of asked.body.models.entries()) {
      if (named.has(slug)) throw invalidField(`models[${index}].slug`, "expected each model once");
      named.add(slug);
      const { is_custom = !known.has(slug), is_finetune = false, base_model_slug = null } = rules.get(slug) ?? {};
      rules.set(slug, {
        slug,
        enabled,
        is_custom: said.is_custom ?? is_custom,
        is_finetune: said.is_finetune ?? is_finetune,
        base_model_slug: said.base_model_slug === undefined ? base_model_slug : said.base_model_slug,
      });
    }
    await writeRules(asked, row, asked.body.allow_all_models ?? before?.allow_all_models ?? true, [...rules.values()]);
    return {};
  },
);

/** DELETE /integrations/{slug}/models?slugs=a,b: nothing is said of them any more. */
export const deleteModels = endpoint(
  { summary: "Say nothing of some models any more", body: null, query: namedModels, answer: deleted },
  async (asked) => {
    const row = changeableIntegration(asked);
    const before = modelRulesOf(row);
    const named = new Set(asked.query.slugs.split(","));
    const kept = before?.models.filter(({ slug }) => !named.delete(slug)) ?? [];
    const [unknown] = named;
    if (unknown !== undefined)
      throw new GatewayError("not_found", "The integration says nothing of one of these models.", { param: "slugs" });
    await writeRules(asked, row, before?.allow_all_models ?? true, kept);
    return { success: true };
  },
);

function changeableIntegration(asked: Asked): SavedRow {
  const row = changeableOf(asked, "integration", asked.parameters["slug"] ?? "");
  requireScope(asked.caller, scopesFor(row, "update"));
  return row;
}

/** The models that the catalogue knows of the integration's provider. */
function knownModels({ api }: Pick<Asked, "api">, integration: SavedRow): readonly string[] {
  const { provider } = integrationOf(integration);
  return api.catalogue.find(({ id }) => id === provider)?.models ?? [];
}

/** The rules, and what they mean to every provider of the integration, in one step. */
async function writeRules(asked: Asked, row: SavedRow, allowAll: boolean, models: readonly ModelRule[]): Promise<void> {
  if (models.length > MOST_MODELS) throw invalidField("models", `expected at most ${MOST_MODELS} models of an integration`);
  const rules: ModelRules = { allow_all_models: allowAll, models };
  const integration = nextRow(asked, row, { details: { ...row.details, model_rules: { ...rules } } });
  const access = modelAccessOf(integration);
  const providers = providersOf(asked, row).map((provider) =>
    nextRow(asked, provider, { resource: { ...provider.resource, model_access: access } }),
  );
  await write(
    asked.api,
    [integration, ...providers].map((put) => ({ put })),
  );
}
