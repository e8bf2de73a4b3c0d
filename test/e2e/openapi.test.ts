import { Validator } from "@seriousme/openapi-schema-validator";
import { configJsonSchema, isObject, type JsonObject } from "@unigate/core";
import { type Gateway, gatewayModes } from "@unigate/testkit";
import { beforeAll, describe, expect, test } from "vitest";
import { type Answer, send } from "./http.ts";
import { useSharedStage } from "./shared-stage.ts";

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;
/** What the edge serves itself; what it does not know there is proxied. */
const OWN = /^\/v1\/(?:chat|explain|circuit-breakers|models|logs|schemas)\b/;

interface Operation {
  readonly summary: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean; readonly schema: JsonObject }[];
  readonly requestBody?: { readonly required: boolean; readonly content: { "application/json": { schema: JsonObject } } };
  readonly responses: Readonly<Record<string, { readonly content?: { "application/json": { schema: JsonObject } } }>>;
  readonly "x-required-scopes": readonly string[];
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

describe.each(gatewayModes)("/openapi.json, %s", (mode) => {
  const stage = useSharedStage(mode);
  let description: JsonObject = {};
  let paths: Paths = {};

  async function read(gateway: Gateway): Promise<JsonObject> {
    const answer = await send(gateway, "/openapi.json");
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
    return answer.json();
  }
  function operation(method: string, path: string): Operation {
    const found = paths[path]?.[method.toLowerCase()];
    if (found === undefined) throw new Error(`${method} ${path} is not described`);
    return found;
  }
  /** Asks about nothing that is there. */
  function ask(method: (typeof METHODS)[number], path: string): Promise<Answer> {
    const body = method === "POST" || method === "PUT" ? { body: {} } : {};
    return send(stage.gateway, path.replaceAll(/\{\w+\}/g, "nothing"), { method, headers: { "x-gateway-api-key": stage.key }, ...body });
  }
  beforeAll(async () => {
    description = await read(stage.gateway);
    paths = description["paths"] as Paths;
  });

  test("is OpenAPI 3.1", async () => {
    const validator = new Validator();
    expect(await validator.validate({ ...description, paths: { nothing: 1 } })).toMatchObject({ valid: false });
    const result = await validator.validate(description);
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    const ids = operations.map((one) => (one as { operationId?: string }).operationId);
    expect(new Set(ids).size).toBe(operations.length);
    expect(operations.length).toBeGreaterThan(60);
  });

  test("says of each operation of the management API what it takes, answers and needs", () => {
    for (const [path, methods] of Object.entries(paths).filter(([name]) => !OWN.test(name))) {
      for (const [method, one] of Object.entries(methods)) {
        const name = `${method} ${path}`;
        expect(one["x-required-scopes"].length, name).toBeGreaterThan(0);
        expect(one.summary.length, name).toBeGreaterThan(3);
        expect(isObject(one.responses["200"]?.content?.["application/json"].schema), name).toBe(true);
        expect(JSON.stringify(one.responses["default"]), name).toContain("#/components/schemas/Error");
        expect(one.requestBody === undefined, name).toBe(method === "get" || method === "delete");
      }
    }
    const list = operation("GET", "/v1/policies/rate-limits").parameters;
    expect(list.map((parameter) => parameter.name)).toEqual([
      "organisation_id",
      "workspace_id",
      "status",
      "type",
      "unit",
      "page_size",
      "current_page",
    ]);
    expect(list.find(({ name }) => name === "current_page")?.schema).toMatchObject({ type: "integer", minimum: 0 });
    const body = operation("PUT", "/v1/integrations/{slug}").requestBody?.content["application/json"].schema;
    expect(body).toMatchObject({ properties: { key: { type: "string" }, configurations: { properties: { custom_host: {} } } } });
    expect(operation("DELETE", "/v1/integrations/{slug}/models").parameters).toContainEqual(
      expect.objectContaining({ name: "slugs", in: "query", required: true }),
    );
  });

  test("describes what is served, and nothing is served on its paths that it does not describe", async () => {
    const wrong: unknown[] = [];
    for (const [path, methods] of Object.entries(paths).filter(([name]) => !OWN.test(name))) {
      for (const method of METHODS) {
        const answer = await ask(method, path);
        const isServed = answer.status !== 405 && (answer.status === 200 || answer.error()["code"] !== "not_available");
        if (isServed !== (methods[method.toLowerCase()] !== undefined)) wrong.push([method, path, answer.status, answer.text]);
      }
    }
    expect(wrong).toEqual([]);
    expect(stage.upstream.requests).toEqual([]);
  });

  test("the config object's JSON Schema needs no key", async () => {
    const path = "/v1/schemas/config.json";
    const answer = await send(stage.gateway, path);
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/schema+json; charset=utf-8"]);
    expect(answer.json()).toEqual(configJsonSchema());
    const tag = String(answer.headers["etag"]);
    expect((await send(stage.gateway, path, { headers: { "if-none-match": tag } })).status).toBe(304);
    const posted = await send(stage.gateway, path, { body: {} });
    expect([posted.status, posted.headers["allow"]]).toEqual([405, "GET, HEAD"]);
    expect((await send(stage.gateway, "/v1/schemas/other.json")).status).toBe(401);
    expect(operation("GET", path)).toMatchObject({ security: [], responses: { 200: {} } });
  });

  test("describes the edge's own endpoints", () => {
    expect(
      Object.keys(paths)
        .filter((path) => OWN.test(path))
        .sort(),
    ).toEqual(
      [
        "/v1/chat/completions",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/logs",
        "/v1/logs/{id}",
        "/v1/schemas/config.json",
        "/v1/explain",
        "/v1/circuit-breakers",
      ].sort(),
    );
  });
});
