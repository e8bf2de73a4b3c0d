import { monitorEventLoopDelay } from "node:perf_hooks";

const EVERY_MS = 5;
const NANOSECONDS = 1_000_000;

/** How long this machine lets a process wait, from now on. */
export function measureLag(): { worstMs(): number } {
  const delays = monitorEventLoopDelay({ resolution: EVERY_MS });
  delays.enable();
  return {
    worstMs() {
      delays.disable();
      return Math.ceil(delays.max / NANOSECONDS);
    },
  };
}
