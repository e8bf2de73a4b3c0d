import type { StartedRequest } from "./started.ts";

/** A request that began, of nobody in particular. */
export function startedRequest(requestId = ""): StartedRequest {
  return {
    time: 1,
    traceId: "",
    spanId: "",
    parentSpanId: "",
    spanName: "",
    sampled: true,
    requestId,
    organisationId: "",
    workspaceId: "",
    apiKeyId: "",
    surface: "chat",
    method: "POST",
    path: "/",
  };
}
