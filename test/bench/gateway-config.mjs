// The saved things that every gateway of the bench starts with.
import { makeGatewayKey } from "@unigate/secrets";

const checks = "{ operator: none, words: [volcano, 'plum pudding', 'credit card'] }";

/** Gateway keys, by the names that cases use; `limited` has a limit of requests that is never reached. */
export const gatewayKeys = { plain: makeGatewayKey(), limited: makeGatewayKey() };

const GROUPS = 5;
const fiveOf = (make) => Array.from({ length: GROUPS }, (_, index) => make(index));

/** Three levels, 50 targets: the last condition is the one that holds, then one of five by weight, then a fallback. */
const nested = {
  strategy: {
    mode: "conditional",
    conditions: fiveOf((index) => ({
      query: { "params.model": index === GROUPS - 1 ? { $regex: "^gpt-" } : `other-${index}`, "headers.x-missing": { $ne: "1" } },
      then: `group-${index}`,
    })),
    default: "group-0",
  },
  targets: fiveOf((index) => ({
    name: `group-${index}`,
    strategy: { mode: "loadbalance" },
    targets: fiveOf((weight) => ({
      weight: weight + 1,
      strategy: { mode: "fallback" },
      targets: [{ provider: "@bench" }, { provider: "@bench" }],
    })),
  })),
};

/** The text of unigate.yaml: one provider, which is the upstream, and the configs and keys of the cases. */
export function gatewayConfig(upstream) {
  const cached = 'provider: "@bench", cache: { mode: simple, max_age: 3600 }';
  const guarded = `input_guardrails: [{ id: words-in, deny: true, default.contains: ${checks} }], output_guardrails: [{ id: words-out, deny: true, default.contains: ${checks} }]`;
  return [
    "version: 1",
    "providers:",
    `  - { slug: bench, provider: openai, api_key: sk-bench, custom_host: '${upstream}/v1' }`,
    "configs:",
    '  - { id: pc-bench, config: { provider: "@bench" } }',
    `  - { id: pc-nested, config: ${JSON.stringify(nested)} }`,
    `  - { id: pc-cached, config: { ${cached} } }`,
    `  - { id: pc-guarded, config: { ${cached}, ${guarded} } }`,
    "keys:",
    `  - { name: bench, key: ${gatewayKeys.plain}, scopes: [completions.write] }`,
    `  - { name: limited, key: ${gatewayKeys.limited}, scopes: [completions.write], rate_limits: [{ type: requests, unit: rpm, value: 100000000 }] }`,
    "",
  ].join("\n");
}

/** The headers with which a case calls the gateway. */
export function gatewayHeaders({ key, config }) {
  const chosen = config === null ? { "x-gateway-provider": "@bench" } : { "x-gateway-config": config };
  return { "x-gateway-api-key": gatewayKeys[key], ...chosen };
}
