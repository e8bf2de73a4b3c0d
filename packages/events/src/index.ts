export { MAX_BODY_BYTES } from "./body.ts";
export { cutMessage, cutMetadata, type DraftMessage, type LogDraft, newHead, usageOfRecord } from "./draft.ts";
export { type EncodedRecord, encodeRecord, withoutBodies } from "./encode.ts";
export { MAX_RECORD_DEPTH, type ReadRecord, type RefusalReason, readRecord } from "./read.ts";
export { type LogHead, type LogMessage, type LogRecord, type LogUsage, logRecordSchema, SCHEMA_VERSION } from "./record.ts";
