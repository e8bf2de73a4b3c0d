import { GatewayError, type JsonObject } from "@unigate/core";
import { z } from "zod";
import { slug } from "../../declared/grammar.ts";
import type { SavedRow } from "../../saved/types.ts";
import { mayUse, type WorkspaceAccess, workspaceAccessOf } from "../../workspace-access.ts";
import { changed } from "../answers.ts";
import { endpoint } from "../asked.ts";
import { requireScope } from "../caller.ts";
import { anyQuery, notYet, text } from "../fields.ts";
import { newSlug } from "../new-names.ts";
import { workspaceIdOf } from "../place.ts";
import { providerOfIntegration } from "../providers/save.ts";
import { invalidField } from "../read-fields.ts";
import { changeableOf, thingOf } from "../things.ts";
import { everyWorkspace } from "../workspaces.ts";
import { nextRow, write } from "../write.ts";
import { workspacesAnswer } from "./answers.ts";
import { providersOf, scopesFor } from "./read.ts";

const MOST_WORKSPACES = 10_000;

const limits = {
  usage_limits: notYet("usage limits of workspaces"),
  rate_limits: notYet("rate limits of workspaces"),
  reset_usage: notYet("usage limits of workspaces"),
};
const workspace = z.strictObject({
  id: text,
  enabled: z.boolean(),
  ...limits,
  create_default_provider: z.boolean().optional(),
  default_provider_slug: slug.optional(),
});
const body = z.strictObject({
  workspaces: z.array(workspace).max(MOST_WORKSPACES).optional(),
  global_workspace_access: z
    .strictObject({ enabled: z.boolean(), ...limits })
    .nullable()
    .optional(),
  override_existing_workspace_access: z.boolean().optional(),
});

/** GET /integrations/{slug}/workspaces: every workspace, with what holds for it. */
export const listAccess = endpoint(
  { summary: "Workspaces that may use an integration", body: null, query: anyQuery, answer: workspacesAnswer },
  (asked) => {
    const { row } = thingOf(asked, "integration", asked.parameters["slug"] ?? "");
    requireScope(asked.caller, scopesFor(row, "read"));
    const access = workspaceAccessOf(row);
    const workspaces = everyWorkspace(asked)
      .filter((thing) => row.workspaceId === null || row.workspaceId === thing.row.id)
      .map((thing): JsonObject => ({ id: thing.row.id, enabled: mayUse(access, thing.row.id) }));
    const everyone = access?.everyone ?? null;
    const global = everyone === null ? null : { enabled: everyone };
    return { object: "list", total: workspaces.length, global_workspace_access: global, workspaces };
  },
);

/**
 * PUT /integrations/{slug}/workspaces: what is said of a workspace stays until it is said otherwise. Providers of the
 * integration are to a workspace without access as if they were not there.
 */
export const updateAccess = endpoint(
  { summary: "Choose the workspaces that may use an integration", body, query: anyQuery, answer: changed },
  async (asked) => {
    const row = changeableOf(asked, "integration", asked.parameters["slug"] ?? "");
    requireScope(asked.caller, scopesFor(row, "update"));
    if (row.workspaceId !== null)
      throw new GatewayError("conflict", "The integration belongs to one workspace; only one of the organisation can be given to others.");
    const { workspaces = [], global_workspace_access: global, override_existing_workspace_access: isAnew = false } = asked.body;
    const before = workspaceAccessOf(row);
    const enabled = new Map(isAnew ? [] : before?.workspaces.map((one) => [one.id, one.enabled]));
    const named = new Set<string>();
    for (const [index, one] of workspaces.entries()) {
      if (workspaceIdOf(asked, one.id) === null) throw invalidField(`workspaces[${index}].id`, "there is no such workspace");
      if (named.has(one.id)) throw invalidField(`workspaces[${index}].id`, "expected each workspace once");
      named.add(one.id);
      enabled.set(one.id, one.enabled);
    }
    if (enabled.size > MOST_WORKSPACES)
      throw invalidField("workspaces", `expected at most ${MOST_WORKSPACES} workspaces of an integration`);
    const access: WorkspaceAccess = {
      everyone: global === undefined ? (before?.everyone ?? null) : (global?.enabled ?? null),
      workspaces: [...enabled].map(([id, isEnabled]) => ({ id, enabled: isEnabled })),
    };
    const withAccess = (one: SavedRow): SavedRow => nextRow(asked, one, { details: { ...one.details, workspace_access: { ...access } } });
    const integration = withAccess(row);
    const present = providersOf(asked, row);
    const wanted = workspaces.filter(
      ({ id, enabled: isEnabled, create_default_provider }) =>
        isEnabled && create_default_provider === true && !present.some(({ workspaceId }) => workspaceId === id),
    );
    const added = wanted.map(({ id, default_provider_slug }) => {
      const chosen = default_provider_slug ?? newSlug("", row.slug);
      return providerOfIntegration(asked, integration, { slug: chosen, name: nameOf(row), note: null, workspaceId: id, isDefault: true });
    });
    await write(
      asked.api,
      [integration, ...present.map(withAccess), ...added].map((put) => ({ put })),
    );
    return {};
  },
);

function nameOf({ slug: own, details }: SavedRow): string {
  return typeof details["name"] === "string" ? details["name"] : own;
}
