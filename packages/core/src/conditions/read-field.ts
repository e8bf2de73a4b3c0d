import { nearestName } from "../config/nearest-name.ts";
import { parsePath } from "../drop-params.ts";
import { mayDecideRoute } from "../forwardable-header.ts";
import type { Field } from "./types.ts";

export type FieldResult = { readonly ok: true; readonly field: Field } | { readonly ok: false; readonly message: string };

const PATHNAME = "url.pathname";
const EXPECTED = "expected metadata.<key>, params.<path>, headers.<name> or url.pathname";
const STARTS: Readonly<Record<string, string>> = {
  metadata: "metadata.",
  params: "params.",
  headers: "headers.",
  header: "headers.",
  body: "params.",
  url: PATHNAME,
};
const MAX_LENGTH = 500;

/**
 * Reads what a condition or a hash field names. The rest of `metadata.a.b` is one key, "a.b"; `params.` goes to any
 * depth, `params.messages[0].role` or `params.messages.0.role`.
 */
export function readField(text: string): FieldResult {
  if (text.length > MAX_LENGTH) return refused(`a field is at most ${MAX_LENGTH} characters`);
  if (text === PATHNAME) return { ok: true, field: { kind: "pathname" } };
  const dot = text.indexOf(".");
  const start = dot < 0 ? text : text.slice(0, dot);
  const rest = dot < 0 ? "" : text.slice(dot + 1);
  if (rest !== "") {
    if (start === "metadata") return { ok: true, field: { kind: "metadata", key: rest } };
    if (start === "headers") return headerField(rest);
    if (start === "params") return paramField(rest);
  }
  const near = nearestName(start, Object.keys(STARTS));
  const meant = near === null ? undefined : STARTS[near];
  if (meant === undefined) return refused(EXPECTED);
  return refused(`${EXPECTED}; did you mean "${meant === PATHNAME ? meant : meant + rest}"?`);
}

function headerField(given: string): FieldResult {
  const name = given.toLowerCase().replace(/^x-portkey-/, "x-gateway-");
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return refused("expected the name of a header, such as headers.x-tier");
  if (!mayDecideRoute(name)) return refused(`the header ${name} may carry a credential, which routing does not look at`);
  return { ok: true, field: { kind: "header", name } };
}

function paramField(rest: string): FieldResult {
  const steps = parsePath(rest);
  if (steps === null || steps.includes("*")) return refused("expected a path such as params.model, params.a[0].b or params.a.0.b");
  return { ok: true, field: { kind: "param", path: { text: `params.${steps.join(".")}`, steps } } };
}

function refused(message: string): FieldResult {
  return { ok: false, message };
}
