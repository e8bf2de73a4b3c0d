import * as fc from "fast-check";
import { savedConfigSchema } from "./schema.ts";

/** Keys that reach for the prototypes of objects. */
const HOSTILE_KEYS = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"] as const;

const key = fc.oneof(fc.constantFrom(...Object.keys(savedConfigSchema.shape)), fc.constantFrom(...HOSTILE_KEYS), fc.string());
const small = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, 1, 429, "429", "", "mock", "@main", "@main/gpt", "single", "fallback", 1e300, -1),
  fc.string(),
);

/** Any JSON, with fields of configs and hostile ones at all places. */
export const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof({ maxDepth: 5, depthSize: "small" }, small, fc.array(tie("value"), { maxLength: 4 }), objectOf(tie("value"))),
})).value;

/** `__proto__` becomes a field of its own, as JSON.parse makes it. */
function objectOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.array(fc.tuple(key, value), { maxLength: 5 }).map((entries) => {
    const object: Record<string, unknown> = {};
    for (const [name, inner] of entries)
      Object.defineProperty(object, name, { value: inner, enumerable: true, configurable: true, writable: true });
    return object;
  });
}

const statuses = fc.array(fc.constantFrom<unknown>(200, 429, 500, "503", "999", 99, null), { maxLength: 2 });
const maybe = <T>(right: fc.Arbitrary<T>, ...wrong: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: fc.constantFrom<unknown>(null, 7, "x", {}, [], ...wrong) });
const params = fc.constantFrom<unknown>({}, { model: "@main/gpt" }, { model: "m", temperature: 0 }, { model: "@cf/x" });
const fields = {
  provider: maybe(fc.constantFrom("mock", "@main", "ollama", "openai"), ""),
  api_key: maybe(fc.constant("k")),
  virtual_key: maybe(fc.constant("main"), ""),
  custom_host: maybe(fc.constant("https://models.example.com/v1")),
  passthrough: maybe(fc.boolean()),
  override_params: maybe(params),
  default_params: maybe(params),
  drop_params: maybe(fc.constantFrom(["a.b"], ["a[0]", "c"], []), [""]),
  retry: maybe(fc.record({ attempts: fc.integer({ min: -1, max: 6 }), on_status_codes: statuses }, { requiredKeys: ["attempts"] })),
  cache: maybe(fc.constantFrom<unknown>("simple", "semantic", { mode: "simple" }, { mode: "simple", max_age: 60 }), "fast"),
  request_timeout: maybe(fc.integer({ min: 0, max: 9 }), 2 ** 31),
  on_status_codes: maybe(statuses),
  weight: maybe(fc.constantFrom(0, 0.5, 3), -1),
  input_guardrails: maybe(fc.constantFrom<unknown>([], ["pg-x"], [{ id: "g" }], [{ contains: {} }], [{ deny: true }], [{ contains: "x" }])),
  cb_config: maybe(fc.constantFrom<unknown>({ failure_threshold: 1, cooldown_interval: 30_000 }, { cooldown_interval: 30_000 })),
  // Beside the field of today's name the older one says nothing, so it is never wrong here.
  aws_region: fc.constant("r"),
  cloud_region: maybe(fc.constant("r")),
  strict_open_ai_compliance: maybe(fc.boolean()),
  retrys: fc.constant({}),
};

const names = Object.keys(fields).filter((name) => name !== "retrys");
const leaf = fc
  .tuple(fc.subarray(names, { maxLength: 4 }), fc.record(fields), fc.integer({ min: 0, max: 30 }))
  .map(([chosen, values, luck]) => {
    const own = Object.fromEntries(chosen.map((name) => [name, values[name as keyof typeof values]]));
    return luck === 0 ? { ...own, retrys: {} } : own;
  });
const strategy = fc.constantFrom<unknown>(
  { mode: "single" },
  { mode: "fallback", on_status_codes: [500] },
  { mode: "loadbalance" },
  {},
  undefined,
);

/** Configs as people write them: most of their fields right, some wrong, few too many. */
export const anyConfig: fc.Arbitrary<object> = fc.letrec<{ node: object; branch: object }>((tie) => ({
  node: fc.oneof({ maxDepth: 3, depthSize: "small" }, leaf, tie("branch")),
  branch: fc
    .tuple(leaf, strategy, fc.array(tie("node"), { maxLength: 3 }))
    .map(([own, mode, targets]) => ({ ...own, targets, ...(mode === undefined ? {} : { strategy: mode }) })),
})).node;
