import type { LoggingPort } from "@unigate/contracts";
import { backgroundCall } from "@unigate/core";
import { expect, test } from "vitest";
import type { EdgeDeps } from "../deps.ts";
import type { Principal } from "../principal.ts";
import { getLog, queryLogs } from "./logs.ts";

const principal = { tenant: { organisationId: "o", workspaceId: "w" }, key: { workspace_id: "w" } } as unknown as Principal;
const call = backgroundCall();

/** A logging service that refuses everything. */
function refusing(code: string, status: number): EdgeDeps {
  const failure = { code, message: `because of ${code}`, param: code === "overloaded" ? "from" : "", status, type: "" };
  const refuse = () => Promise.resolve({ json: Buffer.alloc(0), nextCursor: "", failure });
  return { logging: { queryLogs: refuse, getLog: refuse } as unknown as LoggingPort } as EdgeDeps;
}

test.each([
  ["service_unavailable", 503, null],
  ["overloaded", 503, "from"],
  ["invalid_request", 400, null],
])("%s of logging stays what it is", async (code, status, param) => {
  const deps = refusing(code, status);
  const expected = { code, status, param, message: `because of ${code}` };
  await expect(queryLogs(deps, principal, "", call)).rejects.toMatchObject(expected);
  await expect(getLog(deps, principal, "id", call)).rejects.toMatchObject(expected);
});

test("a log that is not there is named", async () => {
  await expect(getLog(refusing("not_found", 404), principal, "id-7", call)).rejects.toMatchObject({
    status: 404,
    message: 'There is no log "id-7".',
  });
});

test("a code of a newer logging service is a fault", async () => {
  await expect(queryLogs(refusing("newer", 418), principal, "", call)).rejects.toMatchObject({ status: 500 });
});
