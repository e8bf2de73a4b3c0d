import { expect, test } from "vitest";
import { mayUse } from "./workspace-access.ts";

const on = { id: "on", enabled: true };
const off = { id: "off", enabled: false };

test.each([
  ["nothing said", undefined, [true, true, true]],
  ["nobody named", { everyone: null, workspaces: [] }, [true, true, true]],
  ["some given access", { everyone: null, workspaces: [on] }, [true, false, false]],
  ["some refused", { everyone: null, workspaces: [off] }, [true, false, true]],
  ["both", { everyone: null, workspaces: [on, off] }, [true, false, false]],
  ["everyone but some", { everyone: true, workspaces: [on, off] }, [true, false, true]],
  ["nobody but some", { everyone: false, workspaces: [on, off] }, [true, false, false]],
] as const)("%s", (_case, access, expected) => {
  expect(["on", "off", "other"].map((id) => mayUse(access, id))).toEqual(expected);
});
