import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { retryAfterMs } from "./retry-after.ts";

const NOW = Date.UTC(1994, 10, 6, 8, 49, 0);

describe("retryAfterMs", () => {
  test.each<[headers: Record<string, string>, wait: number | null]>([
    [{}, null],
    [{ "retry-after": "20" }, 20_000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after": " 1.5 " }, 1500],
    [{ "retry-after": "0.0001" }, 1],
    [{ "retry-after-ms": "250" }, 250],
    [{ "retry-after-ms": "250.4" }, 251],
    [{ "x-ms-retry-after-ms": "40" }, 40],
    [{ "retry-after-ms": "1", "x-ms-retry-after-ms": "2", "retry-after": "3" }, 1],
    [{ "x-ms-retry-after-ms": "2", "retry-after": "3" }, 2],
    [{ "retry-after-ms": "soon", "retry-after": "3" }, 3000],
    [{ "retry-after-ms": "-1", "retry-after": "3" }, 3000],
    [{ "retry-after": "-1" }, null],
    [{ "retry-after": "" }, null],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after": "1e3" }, null],
    [{ "retry-after": "0x10" }, null],
    [{ "retry-after": "Infinity" }, null],
    [{ "retry-after": "5, 10" }, null],
    [{ "retry-after": "20s" }, null],
    [{ "retry-after": "999999999999" }, 86_400_000],
    [{ "retry-after": "Sun, 06 Nov 1994 08:49:37 GMT" }, 37_000],
    [{ "retry-after": "Sunday, 06-Nov-94 08:49:37 GMT" }, 37_000],
    [{ "retry-after": "Sun Nov  6 08:49:37 1994" }, 37_000],
    [{ "retry-after": "Sun, 06 Nov 1994 08:49:00 GMT" }, 0],
    [{ "retry-after": "Sun, 06 Nov 1994 08:48:59 GMT" }, null],
    [{ "retry-after": "Sun, 06 Nov 2094 08:49:37 GMT" }, 86_400_000],
    [{ "retry-after": "Sun, 99 Nov 1994 08:49:37 GMT" }, null],
    [{ "retry-after": "1994-11-06T08:49:37Z" }, null],
    [{ "retry-after": "2094" }, 2_094_000],
  ])("%j is %j", (headers, wait) => expect(retryAfterMs(headers, NOW)).toBe(wait));

  test("whatever a header says, the wait is null or whole ms up to a day", () => {
    const value = fc.oneof(
      fc.string(),
      fc.double().map(String),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(value, value, value, (first, second, third) => {
        const wait = retryAfterMs({ "retry-after-ms": first, "x-ms-retry-after-ms": second, "retry-after": third }, NOW);
        expect(wait === null || (Number.isInteger(wait) && wait >= 0 && wait <= 86_400_000)).toBe(true);
      }),
    );
  });
});
