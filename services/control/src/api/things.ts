import { GatewayError, isObject, jsonOf } from "@unigate/core";
import type { Item } from "../item.ts";
import type { SavedKind, SavedRow } from "../saved/types.ts";
import { mayUse, workspaceAccessOf } from "../workspace-access.ts";
import type { Asked } from "./asked.ts";
import type { Caller } from "./caller.ts";
import { invalidField } from "./read-fields.ts";

/** A saved or a declared thing. */
export interface Thing {
  readonly row: SavedRow;
  /** What says that it is there: "unigate.yaml". Null = it is saved, and may be changed. */
  readonly source: string | null;
}

type Place = Pick<Asked, "api" | "caller" | "organisationId">;

/** Words for people. */
const NAMES: Readonly<Record<SavedKind, string>> = {
  organisation: "organisation",
  workspace: "workspace",
  api_key: "API key",
  integration: "integration",
  provider: "provider",
  config: "config",
  guardrail: "guardrail",
  rate_limit_policy: "rate-limits policy",
};

/** Kinds whose organisation-wide things a workspace's requests use, and its keys therefore see. */
const SHARED: ReadonlySet<SavedKind> = new Set(["provider", "config", "guardrail", "rate_limit_policy"]);

/** All things of a kind that the caller sees: the declared ones, then the saved ones, oldest first. */
export function thingsOf({ api, caller, organisationId }: Place, kind: SavedKind): Thing[] {
  const declared = declaredThings({ api, caller, organisationId }, kind);
  const taken = new Set(declared.map(({ row }) => nameIn(row.workspaceId, row.slug)));
  const saved = api.saved
    .list(kind, organisationId)
    .filter(({ slug, workspaceId }) => !taken.has(nameIn(null, slug)) && !taken.has(nameIn(workspaceId, slug)));
  return [...declared, ...saved.map((row) => ({ row, source: null }))].filter(({ row }) => isSeen(caller, row));
}

function nameIn(workspaceId: string | null, slug: string): string {
  return `${workspaceId ?? ""}\n${slug}`;
}

/** One thing that the caller sees, by id or slug. Throws not_found, whether it is not there or behind a wall. */
export function thingOf(asked: Place, kind: SavedKind, idOrSlug: string): Thing {
  const declared = declaredThings(asked, kind).filter(({ row }) => row.slug === idOrSlug && isSeen(asked.caller, row));
  const own = declared.find(({ row }) => row.workspaceId === asked.caller.workspaceId) ?? declared[0];
  if (own !== undefined) return own;
  const row = asked.api.saved.get(kind, asked.organisationId, idOrSlug);
  if (row !== undefined && isSeen(asked.caller, row)) return { row, source: null };
  throw new GatewayError("not_found", `There is no such ${NAMES[kind]}.`);
}

/** One saved thing that the caller may change. A declared one is a conflict that names where it stands. */
export function changeableOf(asked: Place & Pick<Asked, "namedWorkspace">, kind: SavedKind, idOrSlug: string): SavedRow {
  const { row, source } = thingOf(asked, kind, idOrSlug);
  if (source !== null) throw new GatewayError("conflict", `This ${NAMES[kind]} comes from ${source} and can only be changed there.`);
  if (asked.caller.workspaceId !== null && row.workspaceId === null && row.kind !== "workspace")
    throw new GatewayError(
      "scope_missing",
      `This ${NAMES[kind]} belongs to the whole organisation; only an organisation key can change it.`,
    );
  const { namedWorkspace } = asked;
  if (namedWorkspace !== undefined && namedWorkspace !== row.workspaceId)
    throw invalidField("workspace_id", "it stays in the workspace where it was made");
  return row;
}

/** Throws a conflict when a declared thing has the name that a new one should get. */
export function refuseDeclared(asked: Place, kind: SavedKind, slug: string, param: string): void {
  const declared = declaredThings(asked, kind).find(({ row }) => row.slug === slug);
  if (declared !== undefined)
    throw new GatewayError("conflict", `This name is taken by a ${NAMES[kind]} of ${declared.source}.`, { param });
}

function declaredThings({ api, organisationId }: Place, kind: SavedKind): Thing[] {
  return api
    .snapshot()
    .all(kind, organisationId)
    .map((item) => ({ row: rowOf(item, kind), source: item.source ?? "the installation" }));
}

/** A declared thing in the form of a saved one. When it was made is not known. */
function rowOf({ id, organisationId, workspaceId, json, sealed }: Item, kind: SavedKind): SavedRow {
  const value = jsonOf(json);
  const resource = isObject(value) ? value : null;
  const own = resource?.["workspace_id"];
  return {
    kind,
    id,
    slug: id,
    organisationId,
    workspaceId: typeof own === "string" ? own : workspaceId,
    version: 1,
    createdAt: 0,
    updatedAt: 0,
    resource,
    details: {},
    sealed: sealed ?? null,
    keyHashes: [],
  };
}

function isSeen(caller: Caller, row: SavedRow): boolean {
  if (caller.workspaceId === null) return true;
  if (row.kind === "workspace") return row.id === caller.workspaceId;
  if (row.workspaceId === caller.workspaceId) return true;
  return row.workspaceId === null && SHARED.has(row.kind) && mayUse(workspaceAccessOf(row), caller.workspaceId);
}
