import { bufferOfJson, type CompiledLeaf, dropParams, isObject, type JsonObject, jsonOf } from "@unigate/core";
import type { GatewayRequest } from "../../gateway-request.ts";
import { slugOfModel } from "./resolve-target.ts";

/** The body as an attempt sends it: the client's own bytes when nothing changes. */
export interface ShapedBody {
  readonly body: Buffer;
  readonly json: JsonObject | null;
  /** Without "@slug/"; "" when nobody named one. */
  readonly model: string;
  readonly stream: boolean;
}

const EMPTY = Buffer.alloc(0);

/**
 * default_params, override_params, drop_params, in this order, then the model without its slug (behaviour 1.4).
 * Where somebody judges the body by what it says, it is written anew: of a name that stands twice in the client's
 * bytes a provider might believe the other value.
 */
export function shapeBody(request: GatewayRequest, leaf: CompiledLeaf): ShapedBody {
  const { json, body } = request;
  if (json === null) return { body: body ?? EMPTY, json: null, model: "", stream: false };
  let shaped = json;
  const { defaultParams, overrideParams, dropParams: drop } = leaf;
  if (defaultParams !== null) {
    const missing = Object.entries(defaultParams).filter(([name]) => !Object.hasOwn(json, name));
    if (missing.length > 0) shaped = { ...shaped, ...Object.fromEntries(missing) };
  }
  if (overrideParams !== null) shaped = { ...shaped, ...overrideParams };
  if (drop.length > 0) shaped = dropParams(shaped, drop) as JsonObject;
  const named = typeof shaped["model"] === "string" ? shaped["model"] : "";
  const slug = slugOfModel(named);
  const model = slug === null ? named : named.slice(slug.length + 2);
  if (slug !== null) shaped = { ...shaped, model };
  const isJudged = request.principal.key.allowed_models !== null || leaf.beforeHooks.length > 0;
  return {
    body: shaped === json && body !== null && !isJudged ? body : bufferOfJson(shaped),
    json: shaped,
    model,
    stream: shaped["stream"] === true,
  };
}

/**
 * What a check has made of the body: all that is read of it is read of the new one (behaviour 7.2). Whether the answer
 * is a stream stays the client's to say.
 */
export function rewriteBody(shaped: ShapedBody, body: Buffer): ShapedBody {
  const json = jsonOf(body);
  if (!isObject(json)) throw new Error("a check has rewritten the body to something that is no JSON object");
  const model = typeof json["model"] === "string" ? json["model"] : "";
  if ((json["stream"] === true) === shaped.stream) return { body, json, model, stream: shaped.stream };
  const restored = { ...json, stream: shaped.stream };
  return { body: bufferOfJson(restored), json: restored, model, stream: shaped.stream };
}
