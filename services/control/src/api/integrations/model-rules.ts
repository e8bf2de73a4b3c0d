import type { ModelAccess } from "@unigate/core";
import type { SavedRow } from "../../saved/types.ts";

/** A model that an integration says something of. */
export interface ModelRule {
  readonly slug: string;
  readonly enabled: boolean;
  readonly is_custom: boolean;
  readonly is_finetune: boolean;
  readonly base_model_slug: string | null;
}

/** What an integration says of its models. */
export interface ModelRules {
  /** Whether models that it says nothing of may be used. */
  readonly allow_all_models: boolean;
  readonly models: readonly ModelRule[];
}

/** Null = nothing was said: each model may be used. */
export function modelRulesOf({ details }: Pick<SavedRow, "details">): ModelRules | null {
  return (details["model_rules"] as ModelRules | undefined) ?? null;
}

/** The rules as the data plane gets them; null = none. */
export function modelAccessOf(integration: Pick<SavedRow, "details">): ModelAccess | null {
  const rules = modelRulesOf(integration);
  if (rules === null) return null;
  const slugsOf = (wanted: boolean): string[] => rules.models.filter(({ enabled }) => enabled === wanted).map(({ slug }) => slug);
  return { enabled: slugsOf(true), disabled: slugsOf(false), others: rules.allow_all_models };
}
