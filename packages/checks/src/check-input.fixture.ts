import { backgroundCall } from "@unigate/core";
import type { CheckInput, Outside } from "./define.ts";

/** For checks that ask nobody. */
export const NOTHING_OUTSIDE: Outside = {
  call: backgroundCall(),
  post: () => Promise.reject(new Error("nothing is outside")),
};

/** What a check sees of an empty chat request, but for what is `given`. */
export function checkInput(given: Partial<CheckInput>): CheckInput {
  return {
    phase: "before",
    text: "",
    request: {},
    requestText: given.phase === "after" ? "" : (given.text ?? ""),
    reply: given.phase === "after" ? {} : null,
    status: given.phase === "after" ? 200 : null,
    metadata: {},
    model: "",
    provider: "openai",
    headers: {},
    surface: "chat",
    stream: false,
    rewritten: false,
    ...given,
  };
}
