import { type Check, findCheck, type PostRequest } from "@unigate/checks";
import { type CheckReply, CheckRequest, GuardrailDefinition, type Sealed } from "@unigate/contracts";
import { backgroundCall, type GuardrailResource, type JsonObject, jsonOf } from "@unigate/core";
import { createGuardrailService, type GuardrailDeps } from "@unigate/guardrail";
import type { Resolution, ResourceRef } from "@unigate/resolve";
import { createSealer } from "@unigate/secrets";
import { type Connection, runners } from "@unigate/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

const START = Date.parse("2026-03-04T05:06:07.890Z");
const TENANT = { organisationId: "org-a", workspaceId: "ws-1" };

const sealer = createSealer(Buffer.alloc(32, 7));

const NO_SECRET = { id: "default.contains", parameters: { words: ["secret"], operator: "none" } };
const HAS_HELLO = { id: "default.contains", parameters: { words: ["hello"], operator: "any" } };
const BROKEN = { id: "default.regexMatch", parameters: { rule: "(" } };

function saved(id: string, checks: readonly JsonObject[], actions: JsonObject): GuardrailResource {
  const full = checks.map(({ id: check, parameters }) => ({ id: String(check), parameters: parameters as JsonObject, is_enabled: true }));
  return { id, name: id, organisation_id: "org-a", workspace_id: null, checks: full, actions };
}

interface Found {
  readonly hook_results: readonly JsonObject[];
  readonly verdict: string;
}

describe.each(runners)("guardrail over $name", (runner) => {
  let connection: Connection<typeof GuardrailDefinition>;
  let library = new Map<string, { value: GuardrailResource; version: string; sealed?: Sealed }>();
  /** What webhooks were sent, and what they say. */
  const posted: PostRequest[] = [];
  let webhookSays: JsonObject = {};
  const order: string[] = [];
  const held: (() => void)[] = [];

  /** Checks that the test steers, beside the real ones. */
  const steered: Readonly<Record<string, Check>> = {
    "test.held": {
      id: "test.held",
      phases: ["before"],
      prepare:
        ({ name }) =>
        async () => {
          order.push(`begin ${String(name)}`);
          await new Promise<void>((resolve) => held.push(resolve));
          order.push(`end ${String(name)}`);
          return { verdict: true, data: null };
        },
    },
    "test.input": { id: "test.input", phases: ["before", "after"], prepare: () => (input) => ({ verdict: true, data: { ...input } }) },
  };

  const resolver: GuardrailDeps["resolver"] = {
    async resolve({ id }: ResourceRef): Promise<Resolution<never> | null> {
      if (id === "pg-down") throw new Error("control is down");
      const found = library.get(id);
      return found === undefined ? null : { value: found.value as never, sealed: found.sealed, version: found.version };
    },
  };

  beforeEach(async () => {
    library = new Map();
    order.length = 0;
    held.length = 0;
    posted.length = 0;
    const service = createGuardrailService({
      resolver,
      sealer,
      findCheck: (id) => steered[id] ?? findCheck(id),
      post: (request) => {
        posted.push(request);
        return Promise.resolve({ kind: "answer", status: 200, body: Buffer.from(JSON.stringify(webhookSays)) });
      },
      clock: { now: () => START },
    });
    connection = await runner.connect(GuardrailDefinition, service);
  });
  afterEach(() => connection.close());

  function send(
    hooks: readonly (JsonObject | string)[],
    text: string,
    over: Parameters<typeof CheckRequest.create>[0] = {},
  ): Promise<CheckReply> {
    const refs = hooks.map((hook) =>
      typeof hook === "string"
        ? { id: hook }
        : { id: typeof hook["id"] === "string" ? hook["id"] : "hook", inlineJson: Buffer.from(JSON.stringify(hook)) },
    );
    const body = Buffer.from(JSON.stringify({ messages: [{ role: "user", content: text }] }));
    const request = { tenant: TENANT, phase: "before", hooks: refs, body, facts: { surface: "chat" }, ...over };
    return connection.port.check(CheckRequest.create(request), backgroundCall(Date.now() + 60_000));
  }

  async function check(...asked: Parameters<typeof send>): Promise<Found> {
    const reply = await send(...asked);
    expect(reply.body).toHaveLength(0);
    expect(reply.addMetadata).toEqual({});
    return { verdict: reply.verdict, hook_results: jsonOf(reply.hookResultsJson) as JsonObject[] };
  }

  test("what passes, in the shape of the public API", async () => {
    const { verdict, hook_results } = await check([{ id: "no-secret", checks: [NO_SECRET] }], "hello");
    expect(verdict).toBe("pass");
    expect(hook_results).toEqual([
      {
        verdict: true,
        id: "no-secret",
        transformed: false,
        checks: [
          {
            id: "default.contains",
            verdict: true,
            data: { explanation: "No word was found.", operator: "none", foundWords: [], missingWords: ["secret"] },
            execution_time: 0,
            transformed: false,
            created_at: "2026-03-04T05:06:07.890Z",
            log: null,
            fail_on_error: false,
          },
        ],
        feedback: null,
        execution_time: 0,
        async: false,
        type: "guardrail",
        created_at: "2026-03-04T05:06:07.890Z",
        deny: false,
      },
    ]);
  });

  test.each([
    ["passes", {}, "hello", "pass"],
    ["fails", {}, "my secret", "soft"],
    ["fails and denies", { deny: true }, "my secret", "deny"],
    ["fails and denies by on_fail", { on_fail: { deny: true } }, "my secret", "deny"],
    ["passes although it would deny", { deny: true }, "hello", "pass"],
    ["passes and denies", { on_success: { deny: true } }, "hello", "deny"],
    ["fails although success would deny", { on_success: { deny: true } }, "my secret", "soft"],
    ["fails in an async hook", { deny: true, async: true }, "my secret", "pass"],
  ])("a hook that %s", async (_name, actions, text, verdict) => {
    expect((await check([{ checks: [NO_SECRET], ...actions }], text)).verdict).toBe(verdict);
  });

  test("all checks of a hook must pass, and a failing hook among several decides", async () => {
    const both = { id: "both", deny: true, checks: [NO_SECRET, HAS_HELLO] };
    const mild = { id: "mild", checks: [HAS_HELLO] };
    expect((await check([mild, both], "hello")).verdict).toBe("pass");
    const denied = await check([mild, both], "good day");
    expect(denied.verdict).toBe("deny");
    expect(denied.hook_results.map(({ id, verdict, deny }) => ({ id, verdict, deny }))).toEqual([
      { id: "mild", verdict: false, deny: false },
      { id: "both", verdict: false, deny: true },
    ]);
  });

  test.each([
    ["a parameter that cannot be used", BROKEN, "CheckParameterError"],
    ["an unknown check", { id: "default.nothing", parameters: {} }, "UnknownCheckError"],
    ["a text it cannot judge", { id: "default.regexMatch", parameters: { rule: "a" } }, "Error"],
  ])("%s is an error, which passes unless failOnError", async (_name, { id, parameters }, error) => {
    const passed = await check([{ deny: true, checks: [{ id, parameters }] }], "");
    expect(passed.verdict).toBe("pass");
    expect(passed.hook_results[0]).toMatchObject({ verdict: true, checks: [{ id, verdict: false, data: null, error: { name: error } }] });
    const failed = await check([{ deny: true, checks: [{ id, parameters: { ...parameters, failOnError: true } }] }], "");
    expect(failed.verdict).toBe("deny");
    expect(failed.hook_results[0]).toMatchObject({ verdict: false, checks: [{ verdict: false, fail_on_error: true }] });
  });

  test("a mutator is an errored check for now", async () => {
    const { verdict, hook_results } = await check([{ type: "mutator", deny: true, checks: [NO_SECRET] }], "my secret");
    expect(verdict).toBe("pass");
    expect(hook_results[0]).toMatchObject({ type: "mutator", checks: [{ error: { name: "MutatorError" } }] });
  });

  test("disabled checks do not run; a hook without checks leaves no result", async () => {
    const off = { ...NO_SECRET, is_enabled: false };
    const { verdict, hook_results } = await check([{ checks: [off] }, { checks: [] }, { checks: [off, HAS_HELLO] }], "hello secret");
    expect(verdict).toBe("pass");
    expect(hook_results.map(({ checks }) => (checks as unknown[]).length)).toEqual([1]);
  });

  test("feedback names the checks by outcome", async () => {
    const hook = {
      checks: [NO_SECRET, HAS_HELLO, BROKEN],
      on_fail: { feedback: { value: -5, weight: 0.5, metadata: { team: "web" } } },
      on_success: { feedback: { value: 5 } },
    };
    const failed = await check([hook], "hello secret");
    expect(failed.hook_results[0]?.["feedback"]).toEqual({
      value: -5,
      weight: 0.5,
      metadata: {
        team: "web",
        successfulChecks: "default.contains",
        failedChecks: "default.contains",
        erroredChecks: "default.regexMatch",
      },
    });
    const passed = await check([hook], "hello");
    expect(passed.hook_results[0]?.["feedback"]).toEqual({
      value: 5,
      weight: 1,
      metadata: { successfulChecks: "default.contains, default.contains", failedChecks: "", erroredChecks: "default.regexMatch" },
    });
  });

  test("after a request the answer's text is checked", async () => {
    const replyBody = Buffer.from(JSON.stringify({ choices: [{ message: { content: "the secret is out" } }] }));
    const { verdict } = await check([{ deny: true, checks: [NO_SECRET] }], "hello", { phase: "after", replyBody, status: 200 });
    expect(verdict).toBe("deny");
    expect(
      (await check([{ deny: true, checks: [NO_SECRET] }], "my secret", { phase: "after", replyBody: Buffer.from("{}") })).verdict,
    ).toBe("pass");
  });

  test("a body that is no JSON is checked as it stands", async () => {
    const body = Buffer.from("plain secret");
    expect((await check([{ deny: true, checks: [NO_SECRET] }], "", { body })).verdict).toBe("deny");
  });

  test("a check sees bodies, metadata and model", async () => {
    const replyBody = Buffer.from(JSON.stringify({ choices: [] }));
    const facts = { surface: "chat", model: "m-1", metadata: { team: "web" } };
    const { hook_results } = await check([{ checks: [{ id: "test.input" }] }], "hi", { phase: "after", replyBody, facts });
    expect(hook_results[0]).toMatchObject({
      checks: [
        {
          data: {
            phase: "after",
            text: "",
            request: { messages: [{ role: "user", content: "hi" }] },
            reply: { choices: [] },
            metadata: { team: "web" },
            model: "m-1",
          },
        },
      ],
    });
  });

  async function heldOrder(hook: JsonObject): Promise<string[]> {
    const named = ["a", "b"].map((name) => ({ id: "test.held", parameters: { name } }));
    const done = check([{ ...hook, checks: named }], "hi");
    for (let released = 0; released < 2; released += 1) {
      // Those that run side by side have all begun before the first may end.
      const atOnce = released === 0 && hook["sequential"] !== true ? 2 : 1;
      await expect.poll(() => held.length, { interval: 1, timeout: 10_000 }).toBe(atOnce);
      held.shift()?.();
    }
    await done;
    return order;
  }

  test("checks run side by side", async () => {
    expect(await heldOrder({})).toEqual(["begin a", "begin b", "end a", "end b"]);
  });

  test("sequential checks run one after the other", async () => {
    expect(await heldOrder({ sequential: true })).toEqual(["begin a", "end a", "begin b", "end b"]);
  });

  describe("saved guardrails", () => {
    test("run by their id", async () => {
      library.set("pg-1", { value: saved("pg-1", [NO_SECRET], { deny: true }), version: "1" });
      const { verdict, hook_results } = await check(["pg-1"], "my secret");
      expect(verdict).toBe("deny");
      expect(hook_results[0]).toMatchObject({ id: "pg-1", verdict: false, deny: true });
    });

    test("a config overrides their actions", async () => {
      library.set("pg-1", { value: saved("pg-1", [NO_SECRET], { deny: true }), version: "1" });
      expect((await check([{ id: "pg-1", deny: false }], "my secret")).verdict).toBe("soft");
      expect((await check(["pg-1"], "my secret")).verdict).toBe("deny");
      expect((await check([{ id: "pg-1", async: true }], "my secret")).verdict).toBe("pass");
    });

    test.each(["2", ""])("a change is seen at once (version %j)", async (version) => {
      library.set("pg-1", { value: saved("pg-1", [NO_SECRET], {}), version: version === "" ? "" : "1" });
      expect((await check(["pg-1"], "my secret")).verdict).toBe("soft");
      library.set("pg-1", { value: saved("pg-1", [HAS_HELLO], {}), version });
      expect((await check(["pg-1"], "hello secret")).verdict).toBe("pass");
    });

    test.each([
      ["pg-none", "UnknownGuardrailError"],
      ["pg-down", "GuardrailUnavailableError"],
    ])("%s is an errored check, which passes", async (id, error) => {
      const { verdict, hook_results } = await check([{ id, deny: true }], "my secret");
      expect(verdict).toBe("pass");
      expect(hook_results[0]).toMatchObject({ id, verdict: true, deny: true, checks: [{ id, verdict: false, error: { name: error } }] });
    });
  });

  describe("checks that ask others", () => {
    const WEBHOOK = { id: "default.webhook", parameters: { webhookURL: "https://hooks.example.com/" } };
    const rewritten = { messages: [{ role: "user", content: "[gone]" }] };

    test("a new body comes back with the verdict", async () => {
      webhookSays = { verdict: false, transformedData: { request: { json: rewritten } } };
      const reply = await send([{ checks: [WEBHOOK] }], "my secret");
      expect(reply.verdict).toBe("soft");
      expect(JSON.parse(reply.body.toString())).toEqual(rewritten);
      expect(jsonOf(reply.hookResultsJson)).toMatchObject([{ transformed: true, checks: [{ transformed: true }] }]);
    });

    test("of two hooks that rewrite the later one does", async () => {
      webhookSays = { verdict: true, transformedData: { request: { json: rewritten } } };
      const reply = await send([{ checks: [WEBHOOK] }, { checks: [WEBHOOK] }, { checks: [NO_SECRET] }], "my secret");
      expect(JSON.parse(reply.body.toString())).toEqual(rewritten);
      expect((jsonOf(reply.hookResultsJson) as JsonObject[]).map(({ transformed }) => transformed)).toEqual([false, true, false]);
    });

    test("credentials of a saved one are opened here, and shown to nobody", async () => {
      webhookSays = { verdict: true };
      const sealed = sealer.seal({ "checks[0].headers": '{"Authorization":"Bearer s3cret"}' }, "org-a", "guardrail/pg-hook");
      library.set("pg-hook", { value: saved("pg-hook", [WEBHOOK], { deny: true }), version: "1", sealed });
      const reply = await send(["pg-hook"], "hello");
      expect(reply.verdict).toBe("pass");
      expect(posted[0]?.headers).toMatchObject({ authorization: "Bearer s3cret" });
      expect(reply.hookResultsJson.toString()).not.toContain("s3cret");
    });

    test("credentials sealed for another place are not used, and nothing is sent", async () => {
      const sealed = sealer.seal({ "checks[0].headers": "{}" }, "org-b", "guardrail/pg-moved");
      library.set("pg-moved", { value: saved("pg-moved", [WEBHOOK], { deny: true }), version: "1", sealed });
      const { verdict, hook_results } = await check(["pg-moved"], "hello");
      expect(verdict).toBe("pass");
      expect(hook_results[0]).toMatchObject({ checks: [{ error: { name: "GuardrailUnavailableError" } }] });
      expect(posted).toEqual([]);
    });
  });

  const NAMED = { requiredMetadataKeyPairs: "before", modelWhitelist: "before", jsonSchema: "after" } as const;
  test.each([
    ["requiredMetadataKeyPairs", { metadataPairs: { team: "web" } }, "pass"],
    ["requiredMetadataKeyPairs", { metadataPairs: { team: "ops" }, operator: "any" }, "deny"],
    ["requiredMetadataKeyPairs", { metadataPairs: { team: "/^W/i" }, operator: "none", matchType: "regex" }, "deny"],
    ["modelWhitelist", { models: ["m-1"] }, "pass"],
    ["modelWhitelist", { models: ["m-1"], not: true }, "deny"],
    ["jsonSchema", { schema: { required: ["name"] } }, "pass"],
    ["jsonSchema", { schema: { required: ["age"] } }, "deny"],
    ["jsonSchema", { schema: { $ref: "https://example.com/schema" } }, "pass"],
    ["jsonSchema", { schema: { $ref: "#" }, failOnError: true }, "deny"],
  ] as const)("default.%s with %j: %s", async (name, parameters, expected) => {
    const replyBody = Buffer.from(JSON.stringify({ choices: [{ message: { content: '```json\n{"name":"x"}\n```' } }] }));
    const facts = { surface: "chat", model: "m-1", metadata: { team: "web" } };
    const over = { phase: NAMED[name], facts, ...(NAMED[name] === "after" ? { replyBody, status: 200 } : {}) };
    expect((await check([{ deny: true, checks: [{ id: `default.${name}`, parameters }] }], "hi", over)).verdict).toBe(expected);
  });

  test("a malformed call is refused", async () => {
    await expect(send([NO_SECRET], "hi", { phase: "during" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    for (const inlineJson of [Buffer.from("{"), Buffer.from("[]")]) {
      await expect(send([], "hi", { hooks: [{ id: "h", inlineJson }] })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }
  });
});
