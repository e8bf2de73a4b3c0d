import type { LogFilter } from "../filter.ts";
import type { StoredRecord } from "./stored-record.ts";

export function matches(record: StoredRecord, filter: LogFilter): boolean {
  return (
    is(filter.trace_id, record.traceId) &&
    is(filter.api_key_id, record.apiKeyId) &&
    is(filter.status, record.status) &&
    (is(filter.provider, record.provider) || is(filter.provider, record.providerSlug)) &&
    (is(filter.model, record.model) || is(filter.model, record.responseModel))
  );
}

function is<T>(wanted: T | undefined, found: T | null): boolean {
  return wanted === undefined || wanted === found;
}
