import { isObject } from "@unigate/core";
import type { Schema } from "./keywords.ts";

export type Anchors = Map<string, Schema>;

/** Finds what a `$ref` leads to within the schema: "#", "#/pointer", "#anchor", also after the schema's own $id. Undefined = nowhere. */
export function createReferences(root: Schema, anchors: Anchors): (reference: string) => unknown {
  const id = isObject(root) && typeof root["$id"] === "string" ? root["$id"].replace(/#$/, "") : "";
  return (reference) => {
    const fragment = fragmentOf(reference, id);
    if (fragment === null) return undefined;
    if (fragment === "") return root;
    return fragment.startsWith("/") ? atPointer(root, fragment) : anchors.get(fragment);
  };
}

/** What follows the #; null when the reference leads out of the schema, or cannot be read. */
function fragmentOf(reference: string, id: string): string | null {
  const at = reference.indexOf("#");
  const base = at < 0 ? reference : reference.slice(0, at);
  if (base !== "" && base !== id) return null;
  try {
    return at < 0 ? "" : decodeURIComponent(reference.slice(at + 1));
  } catch {
    return null;
  }
}

/** RFC 6901. */
function atPointer(root: unknown, pointer: string): unknown {
  let place = root;
  for (const part of pointer.slice(1).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return undefined;
    place = (place as Readonly<Record<string, unknown>>)[name];
  }
  return place;
}
