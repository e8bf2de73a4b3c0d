import type { Clock, JsonObject } from "@unigate/core";
import type { Sealer } from "@unigate/secrets";
import type { z } from "zod";
import type { CheckConfig } from "../configs.ts";
import type { CheckCatalogue } from "../guardrails.ts";
import type { CatalogueProvider } from "../providers.ts";
import type { Saved } from "../saved/types.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Caller } from "./caller.ts";
import { readFields } from "./read-fields.ts";

/** What the management API works with. */
export interface ApiDeps {
  readonly saved: Saved;
  /** What is declared, with the environment's providers and the first keys. */
  snapshot(): Snapshot;
  readonly catalogue: readonly CatalogueProvider[];
  readonly checkConfig: CheckConfig;
  readonly checks: CheckCatalogue;
  /** Opens only to seal again for another place. */
  readonly sealer: Pick<Sealer, "seal" | "open">;
  readonly clock: Clock;
}

/** A request to an endpoint. `Body` and `Query` have been read by its schemas. */
export interface Asked<Body = unknown, Query = unknown> {
  readonly api: ApiDeps;
  readonly caller: Caller;
  /** Whose things it is about: the caller's own, or the one that the admin key names. */
  readonly organisationId: string;
  /** By the names in braces of the route's path. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly body: Body;
  readonly query: Query;
  /** `workspace_id` of the body of a change; undefined = it is not there. */
  readonly namedWorkspace?: unknown;
}

/** What an endpoint takes and answers. The description of the API is made of it. */
export interface Contract<Body extends z.ZodType | null = z.ZodType | null, Query extends z.ZodObject = z.ZodObject> {
  /** A few words for people. */
  readonly summary: string;
  /** Null = it takes none. */
  readonly body: Body;
  readonly query: Query;
  readonly answer: z.ZodType;
}

/** One thing that the management API can do. */
export interface Endpoint {
  readonly contract: Contract;
  /** Answers a request, as JSON with status 200. Throws GatewayError; a SavedConflict is tried once more. */
  answer(asked: Asked): Promise<JsonObject>;
}

/** An endpoint whose body and query are read by its contract first. */
export function endpoint<Body extends z.ZodType | null, Query extends z.ZodObject>(
  contract: Contract<Body, Query>,
  answer: (asked: Asked<Body extends z.ZodType ? z.infer<Body> : null, z.infer<Query>>) => Promise<JsonObject> | JsonObject,
): Endpoint {
  return {
    contract,
    async answer(asked) {
      const query = readFields(contract.query, asked.query);
      const body = contract.body === null ? null : readFields(contract.body, asked.body);
      return answer({ ...asked, body, query } as Parameters<typeof answer>[0]);
    },
  };
}
