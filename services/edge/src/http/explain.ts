import type { EdgeDeps } from "../deps.ts";
import { explainRequest } from "../explain/explain.ts";
import { traceHeaders } from "../pipeline/answer-headers.ts";
import { requireScope } from "../principal.ts";
import type { BodyBudget } from "../read-body.ts";
import { INFERENCE } from "../routes.ts";
import { type Incoming, readChat } from "./inference.ts";
import { writeUnary } from "./write-reply.ts";

/**
 * POST /v1/explain: takes what POST /v1/chat/completions takes, headers and body, and says what would become of it. It
 * shows what a log would show, so it needs the scopes of logs beside that of the request itself.
 */
export async function serveExplain(deps: EdgeDeps, budget: BodyBudget, incoming: Incoming): Promise<void> {
  requireScope(incoming.identity.principal, INFERENCE);
  const { response, trace, requestId } = incoming;
  await readChat(deps, budget, { ...incoming, path: "/chat/completions" }, async (request) => {
    const explanation = Buffer.from(JSON.stringify(await explainRequest(deps, request)));
    writeUnary(response, 200, [...traceHeaders(trace.traceId, requestId), "content-type", "application/json"], explanation);
  });
}
