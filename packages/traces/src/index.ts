export { encodeSpans } from "./otlp.ts";
export { type ShownSpan, shownSpans } from "./shown-spans.ts";
export type { AttributeValue, Span } from "./span.ts";
export { spansOf } from "./spans-of.ts";
