import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compileConfig } from "@unigate/core";
import { makeGatewayKey } from "@unigate/secrets";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { knownChecks } from "./known-checks.fixture.ts";
import { checkDeclared } from "./load.ts";

const catalogue = [
  { id: "openai", envKey: "OPENAI_API_KEY" },
  { id: "together-ai", aliases: ["together"], envKey: "TOGETHER_API_KEY" },
  { id: "mock", envKey: null, keyless: true },
];

function checkConfig(config: unknown) {
  const result = compileConfig(config, "saved");
  return result.ok ? [] : result.problems;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "unigate-declared-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function problems(text: string, environment: Record<string, string> = {}): Promise<string[]> {
  const file = join(folder, "unigate.yaml");
  await writeFile(file, text);
  const found = await checkDeclared(file, { environment, catalogue, checkConfig, checks: knownChecks });
  for (const problem of found) expect(problem.file).toBe(file);
  return found.map(({ line, path, message }) => `${line} ${path}: ${message}`);
}

const KEY = makeGatewayKey();

describe("unigate.yaml", () => {
  test.each([
    ["nothing but the version", "version: 1"],
    [
      "empty sections",
      "version: 1\nproviders:\nconfigs: []\nkeys:\nguardrails: []\npolicies: { rate_limits: [], usage_limits: [] }\nprompts: []",
    ],
    ["a keyless provider", "version: 1\nproviders: [{ slug: m, provider: mock }]"],
    ["an alias of a provider and of a field", "version: 1\nproviders: [{ slug: t, provider: together, aws_region: eu-1 }]"],
    ["the same slug in two workspaces", "version: 1\nproviders: [{ slug: m, provider: mock, workspace: a }, { slug: m, provider: mock }]"],
    ["a config with a credential", "version: 1\nconfigs: [{ id: pc-a, config: { provider: openai, api_key: x, retry: { attempts: 5 } } }]"],
    [
      "limits of all kinds",
      `version: 1\nkeys: [{ name: a, key: ${KEY}, scopes: ['*'], rate_limits: [{ type: concurrency, value: 3 }, { type: tokens, unit: rps, value: 0 }] }]`,
    ],
    [
      "a policy",
      "version: 1\npolicies: { rate_limits: [{ id: p, conditions: [{ key: metadata.team, value: [a, b], excludes: true }], group_by: [{ key: api_key }], type: tokens, unit: rpw, value: 5 }] }",
    ],
    ["a family of scopes", `version: 1\nkeys: [{ name: a, key: ${KEY}, scopes: [configs.*, "*"] }]`],
    [
      "a hash in place of a key",
      `version: 1\nkeys: [{ name: a, key_sha256: ${"aB".repeat(32)}, scopes: ["*"], type: organisation-service }]`,
    ],
  ])("takes %s", async (_case, text) => {
    expect(await problems(text)).toEqual([]);
  });

  test.each([
    ["an empty file", "", ['0 : expected a map that begins with "version: 1"']],
    ["no version", "providers: []", ["1 version: expected 1"]],
    ["an unknown section", "version: 1\nprovider: []", ['2 provider: unknown field; did you mean "providers"?']],
    [
      "an unknown field far from all",
      "version: 1\npolicies: { zzzzzzzzzzzz: 1 }",
      ["2 policies.zzzzzzzzzzzz: unknown field; expected one of rate_limits, usage_limits"],
    ],
    [
      "a misspelt field of a provider, with its line",
      "version: 1\nproviders:\n  - slug: a\n    provider: openai\n    api_kee: x\n    api_key: y",
      ['5 providers[0].api_kee: unknown field; did you mean "api_key"?'],
    ],
    ["a missing field", "version: 1\nproviders:\n  - provider: mock", ["3 providers[0].slug: expected a text, but it is missing"]],
    [
      "a wrong type",
      "version: 1\nproviders: [{ slug: a, provider: mock, rate_limits: 5 }]",
      ["2 providers[0].rate_limits: expected a list"],
    ],
    [
      "a wrong word",
      "version: 1\nproviders: [{ slug: a, provider: mock, rate_limits: [{ type: requests, unit: rpx, value: -1 }] }]",
      [
        '2 providers[0].rate_limits[0].unit: expected one of "rps", "rpm", "rph", "rpd", "rpw"',
        "2 providers[0].rate_limits[0].value: expected at least 0",
      ],
    ],
    [
      "a bad slug",
      'version: 1\nproviders: [{ slug: "a/b", provider: mock }]',
      ["2 providers[0].slug: expected 1 to 64 letters, digits, - or _"],
    ],
    [
      "an unknown provider",
      "version: 1\nproviders: [{ slug: a, provider: openia }]",
      ['2 providers[0].provider: "openia" is no known provider; did you mean "openai"?'],
    ],
    [
      "a provider without credential",
      "version: 1\nproviders: [{ slug: a, provider: openai }]",
      ["2 providers[0]: openai needs a credential; expected api_key, or the fields of its cloud"],
    ],
    [
      "a bad host",
      "version: 1\nproviders: [{ slug: a, provider: mock, custom_host: 'https://u:p@x' }]",
      ["2 providers[0].custom_host: expected a URL such as https://models.example.com/v1, without user and password"],
    ],
    [
      "a slug twice",
      "version: 1\nproviders:\n  - { slug: a, provider: mock }\n  - { slug: a, provider: mock }",
      ["4 providers[1]: the same name as providers[0]"],
    ],
    [
      "a missing variable",
      "version: 1\nproviders:\n  - { slug: a, provider: openai, api_key: '${NOT_THERE}' }",
      ["3 providers[0].api_key: the environment variable NOT_THERE is not set"],
    ],
    [
      "an empty variable",
      "version: 1\nproviders: [{ slug: a, provider: openai, api_key: '${EMPTY}' }]",
      ["2 providers[0].api_key: the environment variable EMPTY is empty"],
    ],
    [
      "a bad reference",
      "version: 1\nproviders: [{ slug: a, provider: openai, api_key: '${a b}' }]",
      ['2 providers[0].api_key: expected a reference such as ${NAME}; "$${" stands for "${" itself'],
    ],
    [
      "a config id without pc-",
      "version: 1\nconfigs: [{ id: chat, config: { provider: mock } }]",
      ['2 configs[0].id: expected an id that starts with "pc-", of letters, digits, - or _'],
    ],
    [
      "a bad config, at the place inside it",
      "version: 1\nconfigs:\n  - id: pc-a\n    config:\n      strategy: { mode: fallback }\n      targets:\n        - { provider: mock }\n        - provider: mock\n          retry: { attempts: 9 }",
      ["9 configs[0].config.targets[1].retry.attempts: expected at most 5"],
    ],
    [
      "an unknown field in a config",
      "version: 1\nconfigs: [{ id: pc-a, config: { provider: mock, wieght: 1 } }]",
      ['2 configs[0].config.wieght: unknown field; did you mean "weight"?'],
    ],
    [
      "sealed credentials in a target",
      "version: 1\nconfigs: [{ id: pc-a, config: { strategy: { mode: single }, targets: [{ provider: openai, sealed_credentials: x }] } }]",
      ["2 configs[0].config: sealed_credentials is the gateway's own field; expected the credential itself"],
    ],
    ["no key", "version: 1\nkeys: [{ name: a, scopes: ['*'] }]", ["2 keys[0]: expected either key or key_sha256"]],
    [
      "a key of another form",
      "version: 1\nkeys: [{ name: a, key: hello, scopes: ['*'] }]",
      ['2 keys[0].key: expected a gateway key: "ugw-" and 49 characters that end in the right checksum'],
    ],
    [
      "a key used twice",
      `version: 1\nkeys: [{ name: a, key: ${KEY}, scopes: ['*'] }, { name: b, key: ${KEY}, scopes: ['*'] }]`,
      ["2 keys[1]: the same name or key as keys[0]"],
    ],
    [
      "names that make one id",
      `version: 1\nkeys: [{ name: a b, key: ${KEY}, scopes: ['*'] }, { name: A-B, key: ${makeGatewayKey()}, scopes: ['*'] }]`,
      ["2 keys[1]: the same name or key as keys[0]"],
    ],
    [
      "an unknown scope",
      `version: 1\nkeys: [{ name: a, key: ${KEY}, scopes: [completion.write] }]`,
      ['2 keys[0].scopes[0]: "completion.write" is no scope; did you mean "completions.write"?'],
    ],
    [
      "an unknown default config",
      `version: 1\nconfigs: [{ id: pc-chat, config: { provider: mock } }]\nkeys: [{ name: a, key: ${KEY}, scopes: ['*'], defaults: { config_id: pc-chta } }]`,
      ['3 keys[0].defaults.config_id: "pc-chta" is no declared config of this tenant; did you mean "pc-chat"?'],
    ],
    [
      "a default config of another workspace",
      `version: 1\nconfigs: [{ id: pc-chat, config: { provider: mock }, workspace: other }]\nkeys: [{ name: a, key: ${KEY}, scopes: ['*'], defaults: { config_id: pc-chat } }]`,
      ['3 keys[0].defaults.config_id: "pc-chat" is no declared config of this tenant'],
    ],
    [
      "a workspace's default config that its requests could not use",
      "version: 1\nconfigs: [{ id: pc-chat, config: { provider: mock }, workspace: other }]\nworkspaces: [{ id: w, defaults: { config_id: pc-chat } }]",
      ['3 workspaces[0].defaults.config_id: "pc-chat" is no declared config of this workspace'],
    ],
    ["a workspace twice", "version: 1\nworkspaces: [{ id: w }, { id: w }]", ["2 workspaces[1]: the same name as workspaces[0]"]],
    [
      "a workspace of an organisation key",
      `version: 1\nkeys: [{ name: a, key: ${KEY}, type: organisation-service, workspace: w, scopes: ['*'] }]`,
      ["2 keys[0].workspace: an organisation-service key has no workspace"],
    ],
    [
      "a date that is none",
      `version: 1\nkeys: [{ name: a, key: ${KEY}, scopes: ['*'], expires_at: soon }]`,
      ["2 keys[0].expires_at: expected a date such as 2030-01-31T00:00:00Z, or Unix milliseconds"],
    ],
    [
      "a policy without its fields",
      "version: 1\npolicies: { rate_limits: [{}] }",
      [
        "2 policies.rate_limits[0].id: expected a text, but it is missing",
        '2 policies.rate_limits[0].type: expected one of "requests", "tokens", "concurrency"',
        "2 policies.rate_limits[0].value: expected a number, but it is missing",
      ],
    ],
    [
      "a policy that looks at something unknown",
      "version: 1\npolicies: { rate_limits: [{ id: p, type: requests, unit: rpm, value: 1, group_by: [{ key: modle }] }] }",
      [
        "2 policies.rate_limits[0].group_by[0].key: expected metadata.<name>, or one of api_key, organisation_id, workspace_id, virtual_key, provider, config, prompt, model, endpoint_type",
      ],
    ],
    [
      "a policy with an empty condition",
      "version: 1\npolicies: { rate_limits: [{ id: p, type: requests, unit: rpm, value: 1, conditions: [{ key: model, value: 5 }] }] }",
      ["2 policies.rate_limits[0].conditions[0].value: expected a text, or a list of texts"],
    ],
    [
      "a window for concurrency, and none for requests",
      `version: 1\npolicies: { rate_limits: [{ id: p, type: concurrency, unit: rpm, value: 1 }] }\nkeys: [{ name: a, key: ${KEY}, scopes: ['*'], rate_limits: [{ type: requests, value: 1 }] }]`,
      [
        "3 keys[0].rate_limits[0].unit: expected a unit for requests and tokens, and none for concurrency",
        "2 policies.rate_limits[0].unit: expected a unit for requests and tokens, and none for concurrency",
      ],
    ],
    [
      "the id of a policy twice in an organisation, whatever the workspace",
      "version: 1\npolicies:\n  rate_limits:\n    - { id: p, type: requests, unit: rpm, value: 1 }\n    - { id: p, type: tokens, unit: rpd, value: 1, workspace: w }",
      ["5 policies.rate_limits[1]: the same name as policies.rate_limits[0]"],
    ],
    [
      "policies of usage",
      "version: 1\npolicies: { usage_limits: [{}] }",
      ["2 policies.usage_limits: policies of usage limits are not available yet"],
    ],
    ["prompts", "version: 1\nprompts: [{}]", ["2 prompts: saved prompts are not available yet"]],
    ["a guardrail without checks", "version: 1\nguardrails: [{ id: a, checks: [] }]", ["2 guardrails[0].checks: expected at least 1 item"]],
    [
      "a dangerous name",
      'version: 1\nconfigs: [{ id: pc-a, config: { "__proto__": { provider: mock }, provider: mock } }]',
      ["2 configs[0].config.__proto__: this name is not allowed"],
    ],
  ])("refuses %s", async (_case, text, expected) => {
    expect(await problems(text, { EMPTY: "" })).toEqual(expected);
  });

  test.each([
    ["bad indentation", "version: 1\nproviders:\n  - a: 1\n b: 2", 4],
    ["a name twice", "version: 1\nversion: 1", 2],
  ])("names the line of %s", async (_case, text, line) => {
    const [first] = await problems(text);
    expect(first).toMatch(new RegExp(`^${line} : \\S`));
  });

  test("a bomb of aliases is refused", async () => {
    const levels = Array.from(
      { length: 9 },
      (_, index) => `a${index}: &a${index} [${Array.from({ length: 9 }, () => (index === 0 ? "x" : `*a${index - 1}`)).join()}]`,
    );
    expect(await problems(["version: 1", ...levels].join("\n"))).toEqual(["0 : holds too many aliases"]);
  });

  test.each([201, 60_000])("a file nested %i deep is refused", async (levels) => {
    const [problem] = await problems(`version: 1\nconfigs: ${"[".repeat(levels)}${"]".repeat(levels)}`);
    expect(problem).toMatch(/^0 : is nested (?:too deeply|deeper than 200 levels)$/);
  });

  test("a file that is not there is a problem, not a fault", async () => {
    const file = join(folder, "absent.yaml");
    expect(await checkDeclared(file, { environment: {}, catalogue, checkConfig, checks: knownChecks })).toEqual([
      { file, line: 0, path: "", message: "cannot be read: ENOENT" },
    ]);
  });

  test("all problems of a step come at once", async () => {
    expect(
      await problems(
        "version: 1\nproviders: [{ slug: a, provider: nope }, { slug: b, provider: openai }]\nkeys: [{ name: k, scopes: ['*'] }]",
      ),
    ).toHaveLength(3);
  });

  test("no problem repeats a value from the environment", async () => {
    const secret = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz";
    const text =
      "version: 1\nproviders: [{ slug: a, provider: '${S}' }]\nkeys: [{ name: a, key: '${S}', scopes: ['${S}'], defaults: { config_id: '${S}' } }]";
    const found = await problems(text, { S: secret });
    expect(found).toHaveLength(4);
    expect(found.join("\n")).not.toContain(secret);
  });
});
