import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject, jsonOf } from "../json.ts";
import { compileConfig } from "./compile.ts";
import { RETRY_STATUSES } from "./inherit.ts";
import type { CompiledLeaf, HookRule } from "./types.ts";

/** The leaf at the end of a chain of nested single strategies. */
function leafOf(chain: readonly JsonObject[]): CompiledLeaf {
  const config = chain.reduceRight<JsonObject | null>((below, own) => {
    return below === null ? { ...own, provider: "mock" } : { ...own, strategy: { mode: "single" }, targets: [below] };
  }, null);
  const result = compileConfig(config, "inline");
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const [leaf] = result.config.leaves;
  if (leaf === undefined) throw new Error("no leaf");
  return leaf;
}

const params = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.oneof(fc.integer(), fc.constant({ deep: 1 })));
const hooks = fc.array(fc.record({ id: fc.constantFrom("h1", "h2", "h3"), async: fc.boolean(), checks: fc.constant([]) }), {
  maxLength: 3,
});
const guardrails = fc.array(fc.constantFrom("g1", "g2", "g3"), { maxLength: 3 });

const node = fc.record(
  {
    override_params: params,
    default_params: params,
    drop_params: fc.array(fc.constantFrom("x", "y.z", "w[0]"), { maxLength: 3 }),
    retry: fc.record({ attempts: fc.integer({ min: 0, max: 9 }), use_retry_after_headers: fc.boolean() }, { requiredKeys: ["attempts"] }),
    cache: fc.record(
      { mode: fc.constantFrom("simple", "semantic"), max_age: fc.integer({ min: 0, max: 8_000_000 }) },
      { requiredKeys: ["mode"] },
    ),
    request_timeout: fc.integer({ min: 1, max: 90_000 }),
    timeouts: fc.record(
      {
        connect_ms: fc.integer({ min: 1, max: 9 }),
        first_token_ms: fc.integer({ min: 1, max: 9 }),
        idle_ms: fc.integer({ min: 1, max: 9 }),
      },
      { requiredKeys: [] },
    ),
    forward_headers: fc.array(fc.constantFrom("X-One", "x-two"), { maxLength: 2 }),
    custom_host: fc.constantFrom("https://a.example.com", "https://b.example.com"),
    strict_compat_compliance: fc.boolean(),
    before_request_hooks: hooks,
    after_request_hooks: hooks,
    input_guardrails: guardrails,
    output_guardrails: guardrails,
  },
  { requiredKeys: [] },
);

// A second, naive reading of the table in behaviour 1.4: look at the whole chain, field by field.

/** The deepest definition of a field. */
function nearest(chain: readonly JsonObject[], field: string): unknown {
  for (const own of chain.toReversed()) if (own[field] !== undefined) return own[field];
  return null;
}

function all(chain: readonly JsonObject[], field: string): unknown[] {
  return chain.map((own) => own[field]).filter((value) => value !== undefined);
}

function naiveRetry(retry: JsonObject | null): unknown {
  if (retry === null || retry["attempts"] === 0) return null;
  return {
    attempts: Math.min(5, Number(retry["attempts"])),
    onStatusCodes: [429, 500, 502, 503, 504, 529],
    useRetryAfter: retry["use_retry_after_headers"] === true,
  };
}

function naiveCache(cache: JsonObject | null): unknown {
  if (cache === null) return null;
  const age = cache["max_age"] as number | undefined;
  return { mode: cache["mode"], maxAge: age !== undefined && age >= 60 && age <= 7_776_000 ? age : 604_800 };
}

function naiveHooks(chain: readonly JsonObject[], hookField: string, guardrailField: string): [string, boolean][] {
  for (const own of chain.toReversed()) {
    const ownHooks = own[hookField] as { id: string; async: boolean }[] | undefined;
    const ownGuardrails = own[guardrailField] as string[] | undefined;
    if (ownHooks === undefined && ownGuardrails === undefined) continue;
    return [
      ...(ownHooks ?? []).map(({ id, async }): [string, boolean] => [id, async]),
      ...(ownGuardrails ?? []).map((id): [string, boolean] => [id, false]),
    ];
  }
  return [];
}

function readHook({ id, inlineJson }: HookRule): [string, boolean] {
  const json: unknown = inlineJson === null ? null : jsonOf(inlineJson);
  return [id, isObject(json) && json["async"] === true];
}

test("a leaf has what the table of behaviour 1.4 says", () => {
  fc.assert(
    fc.property(fc.array(node, { minLength: 1, maxLength: 4 }), (chain) => {
      const leaf = leafOf(chain);
      const nodes = chain as JsonObject[];
      const merged = (field: string) => (all(nodes, field).length === 0 ? null : Object.assign({}, ...all(nodes, field)));
      const timeout = (field: string, fallback: number) => nearest(all(nodes, "timeouts") as JsonObject[], field) ?? fallback;
      expect(leaf.overrideParams).toEqual(merged("override_params"));
      expect(leaf.defaultParams).toEqual(merged("default_params"));
      expect(new Set(leaf.dropParams)).toEqual(new Set(all(nodes, "drop_params").flat()));
      expect(leaf.dropParams).toHaveLength(new Set(leaf.dropParams).size);
      expect(leaf.retry).toEqual(naiveRetry(nearest(nodes, "retry") as JsonObject | null));
      expect(leaf.cache).toEqual(naiveCache(nearest(nodes, "cache") as JsonObject | null));
      expect(leaf.requestTimeoutMs).toEqual(nearest(nodes, "request_timeout"));
      expect(leaf.timeouts).toEqual({
        connectMs: timeout("connect_ms", 10_000),
        firstTokenMs: timeout("first_token_ms", 120_000),
        idleMs: timeout("idle_ms", 120_000),
      });
      expect(leaf.forwardHeaders).toEqual(((nearest(nodes, "forward_headers") ?? []) as string[]).map((name) => name.toLowerCase()));
      expect(leaf.customHost).toEqual(nearest(nodes, "custom_host"));
      expect(leaf.strict).toEqual(nearest(nodes, "strict_compat_compliance"));
      expect(leaf.beforeHooks.map(readHook)).toEqual(naiveHooks(nodes, "before_request_hooks", "input_guardrails"));
      expect(leaf.afterHooks.map(readHook)).toEqual(naiveHooks(nodes, "after_request_hooks", "output_guardrails"));
    }),
    { numRuns: 300 },
  );
});

test("siblings do not see each other", () => {
  const result = compileConfig(
    {
      strategy: { mode: "fallback" },
      retry: { attempts: 1 },
      targets: [{ provider: "mock", retry: { attempts: 2 }, override_params: { n: 1 } }, { provider: "mock" }],
    },
    "saved",
  );
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  expect(result.config.leaves.map((leaf) => [leaf.retry?.attempts, leaf.overrideParams])).toEqual([
    [2, { n: 1 }],
    [1, null],
  ]);
});

describe("retry", () => {
  test.each([
    [{ attempts: 0 }, null],
    [{ attempts: 1 }, { attempts: 1, onStatusCodes: RETRY_STATUSES, useRetryAfter: false }],
    [{ attempts: 5 }, { attempts: 5, onStatusCodes: RETRY_STATUSES, useRetryAfter: false }],
    [{ attempts: 1_000_000 }, { attempts: 5, onStatusCodes: RETRY_STATUSES, useRetryAfter: false }],
    [
      { attempts: 2, on_status_codes: [418, 246], use_retry_after_headers: true },
      { attempts: 2, onStatusCodes: [418, 246], useRetryAfter: true },
    ],
    [
      { attempts: 2, on_status_codes: [] },
      { attempts: 2, onStatusCodes: [], useRetryAfter: false },
    ],
  ])("%j", (retry, rule) => {
    expect(leafOf([{ retry }]).retry).toEqual(rule);
  });

  test("a target turns its parent's off", () => {
    expect(leafOf([{ retry: { attempts: 3 } }, { retry: { attempts: 0 } }]).retry).toBeNull();
  });

  test("the default statuses (DESIGN 8.9)", () => {
    expect(RETRY_STATUSES).toEqual([429, 500, 502, 503, 504, 529]);
  });
});

test.each([
  [undefined, 604_800],
  [-1, 604_800],
  [0, 604_800],
  [59, 604_800],
  [59.9, 604_800],
  [60, 60],
  [60.9, 60],
  [3_600, 3_600],
  [7_776_000, 7_776_000],
  [7_776_001, 604_800],
  [1e300, 604_800],
])("a cache max_age of %s lasts %i seconds", (maxAge, seconds) => {
  const cache = maxAge === undefined ? { mode: "simple" } : { mode: "simple", max_age: maxAge };
  expect(leafOf([{ cache }]).cache).toEqual({ mode: "simple", maxAge: seconds });
});
