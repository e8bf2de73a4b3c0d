import { describe, expect, test } from "vitest";
import { compiledConfig, configOf, problemsOf } from "./conditions.fixture.ts";

const QUERY = "strategy.conditions[0].query";

function at(path: string): string {
  return path === "" ? QUERY : `${QUERY}.${path}`;
}

/** `$and` in `$and`, `depth` times. */
function nested(depth: number): object {
  let query: object = { "metadata.a": "x" };
  for (let level = 0; level < depth; level++) query = { $and: [query] };
  return query;
}

describe.each(["saved", "inline"] as const)("what is wrong with a query is told with its path (%s)", (origin) => {
  test.each<[query: unknown, path: string, message: RegExp]>([
    [{ "metadata.a": { $foo: 1 } }, "metadata.a.$foo", /^unknown operator; expected one of \$eq, \$ne, .*\$regex$/],
    [{ "metadata.a": { $gtt: 1 } }, "metadata.a.$gtt", /did you mean "\$gt"\?$/],
    [{ "metadata.a": { eq: 1 } }, "metadata.a.eq", /^unknown operator; .*did you mean "\$eq"\?$/],
    [{ "metadata.a": { $eq: 1, $regexp: "x" } }, "metadata.a.$regexp", /did you mean "\$regex"\?$/],
    [{ $xor: [] }, "$xor", /^unknown operator; expected one of \$and, \$or; did you mean "\$or"\?$/],
    [{ $eq: "x" }, "$eq", /^expected a field around it, such as /],
    [{ metadta: "x" }, "metadta", /^expected metadata\.<key>, .* or url\.pathname; did you mean "metadata\."\?$/],
    [{ "metadta.a": "x" }, "metadta.a", /did you mean "metadata\.a"\?$/],
    [{ "param.a": "x" }, "param.a", /did you mean "params\.a"\?$/],
    [{ "header.x-a": "x" }, "header.x-a", /did you mean "headers\.x-a"\?$/],
    [{ "url.path": "x" }, "url.path", /did you mean "url\.pathname"\?$/],
    [{ model: "x" }, "model", /^expected metadata\.<key>, params\.<path>, headers\.<name> or url\.pathname$/],
    [{ constructor: "x" }, "constructor", /^expected metadata/],
    [JSON.parse('{"__proto__": "x"}'), "__proto__", /^expected metadata/],
    [JSON.parse('{"$and": [{"__proto__": {"a": 1}}]}'), "$and[0].__proto__", /^expected metadata/],
    [{ "metadata.": "x" }, "metadata.", /^expected metadata/],
    [{ "params.a[*].b": "x" }, "params.a[*].b", /^expected a path such as /],
    [{ "params.a..b": "x" }, "params.a..b", /^expected a path such as /],
    [{ [`params.${"a".repeat(600)}`]: "x" }, `params.${"a".repeat(73)}`, /^a field is at most 500 characters$/],
    [{ "headers.a b": "x" }, "headers.a b", /^expected the name of a header/],
    [{ "headers.Authorization": "x" }, "headers.Authorization", /^the header authorization may carry a credential/],
    [{ "headers.x-portkey-api-key": "x" }, "headers.x-portkey-api-key", /^the header x-gateway-api-key may carry/],
    [{ "headers.cookie": "x" }, "headers.cookie", /may carry a credential/],
    [{ "headers.x-gateway-config": "x" }, "headers.x-gateway-config", /may carry a credential/],
    [{ "metadata.a": {} }, "metadata.a", /^expected a value or an operator/],
    [{ "metadata.a": ["x"] }, "metadata.a", /^expected one value; a list is written \{"\$in":/],
    [{ "metadata.a": { $eq: { b: 1 } } }, "metadata.a.$eq", /^expected a number, true, false, null or text/],
    [{ "metadata.a": { $in: "x" } }, "metadata.a.$in", /^expected a list of values$/],
    [{ "metadata.a": { $nin: [["x"]] } }, "metadata.a.$nin", /^in the list: expected a number/],
    [{ "metadata.a": { $gt: "five" } }, "metadata.a.$gt", /^expected a number, or text that is one$/],
    [{ "metadata.a": { $lte: null } }, "metadata.a.$lte", /^expected a number/],
    [{ "metadata.a": { $regex: "(" } }, "metadata.a.$regex", /^expected a valid pattern .*\(.+\)$/],
    [{ "metadata.a": { $regex: "(?=x)" } }, "metadata.a.$regex", /without lookahead/],
    [{ "metadata.a": { $regex: "a".repeat(1_001) } }, "metadata.a.$regex", /^a pattern is at most 1000 characters, found 1001$/],
    [{ "metadata.a": { $regex: "((a{30}){30}){30}" } }, "metadata.a.$regex", /too large together|valid pattern/],
    [{ "metadata.a": { $regex: 5 } }, "metadata.a.$regex", /^expected a pattern as text$/],
    [{ $and: [] }, "$and", /^expected a list of at least one query$/],
    [{ $or: [] }, "$or", /^expected a list of at least one query$/],
    [{ $or: { "metadata.a": "x" } }, "$or", /^expected a list/],
    [{ $or: [{ "metadata.a": "x" }, "y"] }, "$or[1]", /^expected a query such as /],
    [{ $and: [{ $or: [{ "metadata.a": { $foo: 1 } }] }] }, "$and[0].$or[0].metadata.a.$foo", /^unknown operator/],
    [Object.fromEntries(Array.from({ length: 1_001 }, (_, index) => [`metadata.k${index}`, 1])), "", /^a query has at most 1000 keys and/],
    [{ "metadata.a": { $in: Array.from({ length: 1_000 }, (_, index) => index) } }, "", /, found 1002$/],
  ])("%#", (query, path, message) => {
    expect(problemsOf(configOf(query), origin)).toEqual([{ path: at(path), message: expect.stringMatching(message) }]);
  });

  test("no object at all", () => {
    for (const query of ["x", 5, null, []])
      expect(problemsOf(configOf(query), origin)).toEqual([{ path: QUERY, message: "expected an object" }]);
  });

  test("20 levels are read, 21 are not, and 200 neither crash nor stall", () => {
    expect(problemsOf(configOf(nested(20)), origin)).toEqual([]);
    expect(problemsOf(configOf(nested(21)), origin)[0]?.message).toBe("$and and $or may be nested 20 times");
    expect(problemsOf(configOf(nested(200)), origin)[0]?.message).toBe("nested deeper than 50 levels");
  });
});

test("a thousand values are read", () => {
  const values = Array.from({ length: 998 }, (_, index) => `model-${index}`);
  expect(problemsOf(configOf({ "params.model": { $in: values } }))).toEqual([]);
});

test("the patterns and places of one config are bounded together", () => {
  const conditions = (queries: object[]) => ({
    strategy: { mode: "conditional", conditions: queries.map((query) => ({ query, then: "a" })), default: "a" },
    targets: [{ provider: "mock", name: "a" }],
  });
  const many = (count: number, query: (index: number) => object) => conditions(Array.from({ length: count }, (_, index) => query(index)));
  const first = (config: object) => problemsOf(config)[0];

  expect(first(many(10, () => ({ "metadata.a": { $regex: "[ab]{900}" } })))).toMatchObject({
    path: "strategy.conditions[4].query.metadata.a.$regex",
    message: expect.stringContaining("too large together"),
  });
  expect(first(many(101, (index) => ({ [`params.a${index}`]: 1 })))?.message).toBe("a config may look at 100 places of the body");
  expect(first(many(101, (index) => ({ [`headers.x-${index}`]: 1 })))?.message).toBe("a config may look at 100 headers");
  expect(first(many(500, () => ({ "params.a": 1, "params.b": 1, "headers.x": 1 })))).toBeUndefined();
  expect(first(many(21, () => ({ "params.a": { $in: Array.from({ length: 990 }, () => 1) } })))?.message).toContain("together");
});

test("a compiled config says what of a request it looks at, each place once", () => {
  const { neededParams, neededHeaders } = compiledConfig({
    strategy: {
      mode: "conditional",
      conditions: [{ query: { "params.a[0].b": 1, $or: [{ "params.a.0.b": 2 }, { "headers.X-A": "x", "metadata.m": "y" }] }, then: "in" }],
      default: "in",
    },
    targets: [
      {
        name: "in",
        strategy: { mode: "loadbalance", sticky: { enabled: true, hash_fields: ["headers.x-a", "headers.x-b", "params.user"] } },
        targets: [{ provider: "mock" }],
      },
    ],
  });
  expect(neededParams).toEqual([
    { text: "params.user", steps: ["user"] },
    { text: "params.a.0.b", steps: ["a", 0, "b"] },
  ]);
  expect(neededHeaders).toEqual(["x-a", "x-b"]);
});
