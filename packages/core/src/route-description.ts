import type { JsonObject } from "./json.ts";

/** A public endpoint as the description of the API tells it. Schemas are JSON Schema 2020-12. */
export interface RouteDescription {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below /v1; a name in braces stands for one segment. */
  readonly path: string;
  readonly summary: string;
  /** Any one is enough. */
  readonly scopes: readonly string[];
  /** Only the admin key may use it, whatever the scopes of another. */
  readonly adminOnly: boolean;
  readonly query: readonly { readonly name: string; readonly required: boolean; readonly schema: JsonObject }[];
  /** Null = it takes none. */
  readonly body: JsonObject | null;
  /** Null = it is not described here. */
  readonly answer: JsonObject | null;
}
