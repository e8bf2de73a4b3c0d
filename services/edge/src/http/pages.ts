import type { IncomingMessage, ServerResponse } from "node:http";
import { configJsonSchema, GatewayError, newUuid, startTrace, toGatewayError } from "@unigate/core";
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import type { EdgeDeps } from "../deps.ts";
import { errorReply } from "../endpoints/error-reply.ts";
import { createApiDescription } from "./api-description.ts";
import { writeUnary } from "./write-reply.ts";

const METHODS = "GET, HEAD";
/** The config object for editors, which have no key. */
const CONFIG_SCHEMA = "/v1/schemas/config.json";
const PAGES = ["/", "/openapi.json", CONFIG_SCHEMA];

/** Whether a path under /v1 is a page: anyone may read it. */
export function isPage(path: string): boolean {
  return path === CONFIG_SCHEMA;
}

/** What is outside /v1 and off the hot path: the API description and answers for everything unknown. */
export function createPages(deps: EdgeDeps, version: string): (request: IncomingMessage, response: ServerResponse) => void {
  const app: Express = express();
  app.disable("x-powered-by");
  const description = createApiDescription(deps, version);
  app.get("/openapi.json", async (_request: Request, response: Response) => {
    response.type("json").send(await description());
  });
  let configSchema: string | null = null;
  app.get(CONFIG_SCHEMA, (_request: Request, response: Response) => {
    configSchema ??= JSON.stringify(configJsonSchema());
    response.type("application/schema+json").send(configSchema);
  });
  app.get("/", (_request: Request, response: Response) => {
    response.json({ name: "Unigate", version, openapi: "/openapi.json", base_url: "/v1" });
  });
  app.all([...PAGES, "/healthz", "/readyz", "/metrics"], (request: Request, response: Response) => {
    response.setHeader("allow", METHODS);
    refuse(response, new GatewayError("method_not_allowed", `${request.method} is not allowed on ${request.path}; use GET.`));
  });
  app.use((request: Request, response: Response) => {
    refuse(
      response,
      new GatewayError("not_found", `There is nothing at ${request.path.slice(0, 200)}. The API is under /v1; /openapi.json describes it.`),
    );
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    const failure = toGatewayError(error);
    if (failure.code === "internal") deps.log.error({ error: String(error) }, "page failed");
    refuse(response, failure);
  });
  return (request, response) => void app(request, response);
}

function refuse(response: ServerResponse, error: GatewayError): void {
  const { status, headers, body } = errorReply(error, startTrace(undefined).traceId, newUuid());
  writeUnary(response, status, headers, body);
}
