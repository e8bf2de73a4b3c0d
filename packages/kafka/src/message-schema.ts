import { logRecordSchema } from "@unigate/events";

/** A message of the logs topic. Without `request` and `response` both are in the bodies topic, under the same id. */
export const logMessageSchema = logRecordSchema.partial({ request: true, response: true });

/** A message of the bodies topic: what a reader needs to find the record, and its bodies. */
export const bodiesMessageSchema = logRecordSchema.pick({
  id: true,
  schema_version: true,
  time: true,
  trace_id: true,
  organisation_id: true,
  workspace_id: true,
  request: true,
  response: true,
});
