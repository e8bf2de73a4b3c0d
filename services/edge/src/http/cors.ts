import type { IncomingMessage, ServerResponse } from "node:http";

const ALLOWED_HEADERS = "authorization, content-type, x-api-key, api-key, x-goog-api-key";

/** Off unless origins are set (DESIGN 8.20). Sets the headers of an allowed origin; answers its preflight and returns true. */
export function answerCors(origins: readonly string[], request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers;
  if (origins.length === 0 || origin === undefined || !(origins.includes(origin) || origins.includes("*"))) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader(
    "access-control-expose-headers",
    "x-gateway-trace-id, x-request-id, x-gateway-cache-status, x-gateway-provider, retry-after",
  );
  if (request.method !== "OPTIONS") return false;
  const asked = request.headers["access-control-request-headers"];
  response.setHeader("access-control-allow-methods", "GET, POST, PUT, DELETE");
  response.setHeader("access-control-allow-headers", asked ?? ALLOWED_HEADERS);
  response.setHeader("access-control-max-age", "600");
  response.writeHead(204);
  response.end();
  return true;
}
