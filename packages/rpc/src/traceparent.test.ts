import { expect, test } from "vitest";
import { isTraceparent, traceIdOf } from "./traceparent.ts";

const id = "4bf92f3577b34da6a3ce929d0e0e4736";

test.each([
  [`00-${id}-00f067aa0ba902b7-01`, true],
  [`00-${id}-00f067aa0ba902b7`, false],
  [`00-${id}-00f067aa0ba902b7-01\r\nx: y`, false],
  [`00-${id.toUpperCase()}-00f067aa0ba902b7-01`, false],
  ["", false],
])("%j is a traceparent: %s", (text, is) => {
  expect([isTraceparent(text), traceIdOf(text)]).toEqual([is, is ? id : "0".repeat(32)]);
});
