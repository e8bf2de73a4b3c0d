import { randomBytes } from "node:crypto";
import { freePort, until } from "@unigate/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { send } from "../e2e/http.ts";
import { logsOf } from "../e2e/logs.ts";
import { openAi, seenOf, seenOfStream } from "../e2e/sdk.ts";
import { type Composed, composed } from "./compose.ts";
import { docker, firstKeys, untilReady } from "./docker.ts";

const UP_MS = 240_000;
const READY_MS = 90_000;
/** Ports that may be taken, beside each that is needed. */
const SPARE_PORTS = 8;
/** From the edge's disk over Kafka to the database. */
const LOGGED_MS = 60_000;
const BODY = { model: "mock-1", messages: [{ role: "user" as const, content: "Hello" }] };

/** What is served where, and whose log has the first keys. */
interface Place {
  readonly service: string;
  readonly keysFrom: string;
  readonly scale: number;
}

/** Compose files, brought up as they are, seen through the official SDK. `more` adds tests of what is up. */
export function describeServed(files: readonly string[], place: Place, more?: (stack: () => Composed) => void): void {
  describe(files.join(" and "), () => {
    let stack: Composed;
    let origins: string[] = [];
    let keys = { admin: "", workspace: "" };

    beforeAll(async () => {
      const port = await freePort();
      stack = composed(files, {
        UNIGATE_PORT: `127.0.0.1:${place.scale === 1 ? port : `${port}-${port + place.scale + SPARE_PORTS}`}`,
        UNIGATE_MESH_TOKEN: randomBytes(24).toString("hex"),
        UNIGATE_MASTER_KEY: randomBytes(32).toString("base64"),
        POSTGRES_PASSWORD: randomBytes(24).toString("hex"),
      });
      await stack.up("--scale", `${place.service}=${place.scale}`);
      origins = await Promise.all(Array.from({ length: place.scale }, (_, index) => stack.origin(place.service, index + 1)));
      await Promise.all(origins.map((origin) => untilReady(origin, READY_MS, () => stack.tell("logs", "--no-color", "--tail=40"))));
      keys = await until("the first keys", async () => firstKeys(await stack.tell("logs", "--no-color", place.keysFrom)), READY_MS);
    }, UP_MS);
    afterAll(() => stack.down(), UP_MS);

    const client = (origin: string, key: string, headers: Record<string, string> = {}) =>
      openAi({ baseUrl: `${origin}/v1` }, key, { "x-gateway-provider": "mock", ...headers });

    test("answers the SDK, a request and a stream, and its logs have both", async () => {
      for (const origin of origins) {
        const traceId = randomBytes(16).toString("hex");
        const sdk = client(origin, keys.workspace, { "x-gateway-trace-id": traceId });
        const answer = seenOf(await sdk.chat.completions.create(BODY));
        expect(answer.text).toContain('You said: "Hello"');
        const streamed = await seenOfStream(await sdk.chat.completions.create({ ...BODY, stream: true }));
        expect(streamed).toMatchObject({ text: answer.text, finishReason: "stop" });
        const records = await until("both log records", () => logsOf({ origin }, keys.workspace, traceId, 2), LOGGED_MS);
        expect(records.map((record) => [record["provider"], record["status"]])).toEqual([
          ["mock", 200],
          ["mock", 200],
        ]);
      }
    }, 120_000);

    test("makes a key, and refuses it everywhere once it is revoked", async () => {
      const manage = { "x-gateway-api-key": keys.admin };
      const [first = ""] = origins;
      const body = { name: "short-lived", workspace_id: "ws-default", scopes: ["completions.write"] };
      const made = (await send({ origin: first }, "/v1/api-keys/workspace/service", { headers: manage, body })).json();
      const statusAt = (origin: string): Promise<unknown> =>
        client(origin, String(made["key"]))
          .chat.completions.create(BODY)
          .then(
            () => 200,
            (error: { status?: number }) => error.status,
          );
      for (const origin of origins) expect(await statusAt(origin)).toBe(200);
      const gone = await send({ origin: first }, `/v1/api-keys/${String(made["id"])}`, { method: "DELETE", headers: manage });
      expect(gone.status).toBe(200);
      for (const origin of origins) await until("a key that is refused", async () => (await statusAt(origin)) === 401);
    }, 60_000);

    more?.(() => stack);

    test("every process becomes healthy", async () => {
      const states = async (): Promise<string[]> => {
        const ids = (await stack.tell("ps", "--quiet")).trim().split("\n");
        return (
          await docker([
            "inspect",
            "--format",
            "{{if .State.Health}}{{.State.Health.Status}}{{else}}ended with {{.State.ExitCode}}{{end}}",
            ...ids,
          ])
        )
          .trim()
          .split("\n");
      };
      await until(
        "healthy containers only",
        async () => (await states()).every((state) => state === "healthy" || state === "ended with 0"),
        READY_MS,
      );
    }, 120_000);
  });
}
