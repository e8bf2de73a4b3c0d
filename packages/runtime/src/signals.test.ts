import { expect, test, vi } from "vitest";
import { onStopSignals } from "./signals.ts";

/** Delivers a signal to what `onStopSignals` added, and to nothing else of the process that runs the tests. */
function listening(onStop: Parameters<typeof onStopSignals>[0], onHurry: () => void) {
  const before = { SIGTERM: process.listeners("SIGTERM"), SIGINT: process.listeners("SIGINT") };
  const added = (signal: "SIGTERM" | "SIGINT") => process.listeners(signal).filter((listener) => !before[signal].includes(listener));
  const stopListening = onStopSignals(onStop, onHurry);
  return {
    stopListening,
    count: () => added("SIGTERM").length + added("SIGINT").length,
    send: (signal: "SIGTERM" | "SIGINT") => {
      for (const listener of added(signal)) listener(signal);
    },
  };
}

test.each([
  ["SIGTERM", false],
  ["SIGINT", true],
] as const)("the first %s stops; interactive: %s", (signal, interactive) => {
  const [onStop, onHurry] = [vi.fn(), vi.fn()];
  const signals = listening(onStop, onHurry);
  signals.send(signal);
  expect(onStop.mock.calls).toEqual([[{ interactive }]]);
  expect(onHurry).not.toHaveBeenCalled();
  signals.stopListening();
});

test("each further one hurries, whichever it is", () => {
  const [onStop, onHurry] = [vi.fn(), vi.fn()];
  const signals = listening(onStop, onHurry);
  for (const signal of ["SIGTERM", "SIGTERM", "SIGINT"] as const) signals.send(signal);
  expect(onStop).toHaveBeenCalledTimes(1);
  expect(onHurry).toHaveBeenCalledTimes(2);
  signals.stopListening();
});

test("nothing stays behind", () => {
  const signals = listening(vi.fn(), vi.fn());
  expect(signals.count()).toBe(2);
  signals.stopListening();
  expect(signals.count()).toBe(0);
});
