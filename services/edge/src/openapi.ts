import { routes } from "./routes.ts";

const ERROR = { description: "Error", content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } };

/** The OpenAPI description, made from the route table. */
export function openApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const parameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    }));
    paths[`/v1${route.path}`] = {
      ...paths[`/v1${route.path}`],
      [route.method.toLowerCase()]: {
        summary: route.summary,
        operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/[/{}_]+(\w)?/g, (_, letter?: string) => letter?.toUpperCase() ?? "")}`,
        parameters,
        ...(route.method === "POST"
          ? { requestBody: { required: true, content: { "application/json": { schema: { type: "object" } } } } }
          : {}),
        responses: { 200: { description: "OK" }, default: ERROR },
        "x-scopes": route.scopes,
      },
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Unigate", version, description: "Any other GET, POST, PUT or DELETE under /v1 is proxied to the chosen provider." },
    paths,
    security: [{ gatewayKey: [] }, { bearer: [] }],
    components: {
      securitySchemes: {
        gatewayKey: { type: "apiKey", in: "header", name: "x-gateway-api-key" },
        bearer: { type: "http", scheme: "bearer" },
      },
      schemas: {
        Error: {
          type: "object",
          required: ["error"],
          properties: {
            error: {
              type: "object",
              required: ["message", "type", "param", "code"],
              properties: {
                message: { type: "string" },
                type: { type: "string" },
                param: { type: ["string", "null"] },
                code: { type: ["string", "null"] },
              },
            },
            provider: { type: "string" },
            hook_results: { type: "object" },
          },
        },
      },
    },
  };
}
