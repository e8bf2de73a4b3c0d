import { expect, test } from "vitest";
import { createTestApi } from "./management.fixture.ts";

test.each([
  ["a path that is reserved", "GET", "/prompts", undefined, 404, "not_available"],
  ["a path below one of ours", "GET", "/configs/pc-main/versions/1", undefined, 404, "not_available"],
  ["a method that the path has not", "DELETE", "/configs", undefined, 405, "method_not_allowed"],
  ["a method that nothing has", "PATCH", "/configs/pc-main", "{}", 405, "method_not_allowed"],
  ["no JSON", "POST", "/configs", "{", 400, "invalid_json"],
  ["a list", "POST", "/configs", "[]", 400, "invalid_json"],
  ["a body that is nested too deep", "POST", "/configs", `{"config":${"[".repeat(300)}${"]".repeat(300)}}`, 400, "invalid_json"],
  ["a list that is too long", "POST", "/configs", JSON.stringify({ config: { targets: Array(10_001).fill(0) } }), 400, "invalid_request"],
  ["a field of the language's own", "POST", "/configs", '{"config":{"__proto__":{}}}', 400, "invalid_request"],
  ["a body that is too large", "POST", "/configs", `{"name":"${"x".repeat(2 * 1024 * 1024)}"}`, 413, "body_too_large"],
  ["a path that is no percent-encoding", "GET", "/configs/%zz", undefined, 400, "invalid_request"],
  ["no body", "POST", "/configs", undefined, 400, "invalid_request"],
] as const)("refuses %s", async (_case, method, path, body, status, code) => {
  const api = createTestApi();
  const answer = await api.ask(method, path, body);
  expect([answer.status, answer.json]).toEqual([
    status,
    { error: { message: expect.any(String), type: expect.any(String), param: answer.error.param, code } },
  ]);
  expect(answer.headers["content-type"]).toBe("application/json");
  expect(api.saved.text()).toBe("[]");
});

test("says which methods there are", async () => {
  const { headers, error } = await createTestApi().ask("POST", "/configs/pc-main", "{}");
  expect(headers["allow"]).toBe("GET, PUT, DELETE");
  expect(error.message).toContain("GET or PUT or DELETE");
});

test("a slash at the end makes no difference, and a name may be encoded", async () => {
  const api = createTestApi();
  for (const path of ["/configs/", "/configs/pc%2Dmain", "/configs/pc-main/"]) expect((await api.ask("GET", path)).status, path).toBe(200);
});

test("tells of many faults at once, and not of all that a hostile body may have", async () => {
  const api = createTestApi();
  const two = await api.ask("POST", "/configs", { names: "x", config: 5 });
  expect(two.error.message).toMatch(/name: expected .*names: unknown field; did you mean "name"\?/);
  const many = await api.ask("POST", "/configs", Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`field_${index}`, 1])));
  expect([many.status, many.text.length < 4_000]).toEqual([400, true]);
});

test("a fault of our own is told to the log, not to the caller", async () => {
  const api = createTestApi();
  const broken = new Error("a secret detail");
  api.saved.list = () => {
    throw broken;
  };
  const answer = await api.ask("GET", "/configs");
  expect([answer.status, answer.error.code]).toEqual([500, "internal"]);
  expect(answer.text).not.toContain("a secret detail");
  expect(api.failures).toEqual([broken]);
});
