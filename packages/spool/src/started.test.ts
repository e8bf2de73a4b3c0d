import { expect, test } from "vitest";
import { interruptedDraft, type StartedRequest, startedText } from "./started.ts";

const STARTED: StartedRequest = {
  time: 1_700_000_000_000,
  traceId: "t",
  spanId: "s",
  parentSpanId: "",
  spanName: "summary",
  sampled: true,
  requestId: "r",
  organisationId: "o",
  workspaceId: "w",
  apiKeyId: "k",
  surface: "chat",
  method: "POST",
  path: "/chat/completions",
};

test("a request that was cut off becomes its last record, with its place in the trace", () => {
  const draft = interruptedDraft(startedText(STARTED), 2);
  expect(draft?.head).toMatchObject({
    trace_id: "t",
    span_id: "s",
    parent_span_id: null,
    span_name: "summary",
    sampled: true,
    attempt: 2,
    last: true,
    outcome: "interrupted",
    path: "/chat/completions",
  });
  expect(interruptedDraft(startedText({ ...STARTED, sampled: false, spanName: "" }), 0)?.head).toMatchObject({
    span_name: "llm",
    sampled: false,
  });
});

test("what an older process wrote is still read", () => {
  const old = JSON.stringify((JSON.parse(startedText(STARTED)) as unknown[]).slice(0, 11));
  expect(interruptedDraft(old, 0)?.head).toMatchObject({ path: "/chat/completions", sampled: false, span_name: "llm", last: true });
});
