import { fieldName, type JsonObject } from "@unigate/core";

/** A provider's fields by the gateway's own names: "aws_region" is "cloud_region". A name that is there already stays. */
export function withOwnNames(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [fieldName(name) in fields ? name : fieldName(name), value]));
}
