import { GatewayError } from "@unigate/core";
import { describe, expect, test } from "vitest";
import { cancelledError, isRpcError, RPC_CODES, RpcError, toRpcError } from "./errors.ts";
import { errorOf, statusOf } from "./grpc/status.ts";

describe("RpcError", () => {
  test.each(RPC_CODES)("%s survives the wire", (code) => {
    const error = errorOf(statusOf(new RpcError(code, "why")));
    expect([error.code, error.message]).toEqual([code, "why"]);
  });

  test("has gRPC's numbers", () => {
    const numbers = {
      CANCELLED: 1,
      DEADLINE_EXCEEDED: 4,
      PERMISSION_DENIED: 7,
      UNIMPLEMENTED: 12,
      UNAVAILABLE: 14,
      UNAUTHENTICATED: 16,
    } as const;
    for (const code of RPC_CODES)
      if (code in numbers) expect(statusOf(new RpcError(code, "")).code).toBe(numbers[code as keyof typeof numbers]);
    expect(errorOf({ code: 99, details: "" }).code).toBe("UNKNOWN");
  });

  test("cuts a message that would not fit, and repairs one that could not be sent", () => {
    expect(new RpcError("INTERNAL", "x".repeat(5_000)).message).toBe(`${"x".repeat(1_000)}...`);
    expect(() => encodeURI(new RpcError("INTERNAL", "half \ud83d").message)).not.toThrow();
  });

  test.each([new Error("secret"), new GatewayError("rate_limited", "secret"), "secret", null, undefined])(
    "hides what it is made from: %s",
    (thrown) => {
      const error = toRpcError(thrown);
      expect([error.code, error.message.includes("secret"), error.cause ?? undefined]).toEqual(["INTERNAL", false, thrown ?? undefined]);
    },
  );

  test("is kept as it is", () => {
    const error = new RpcError("ABORTED", "x");
    expect(toRpcError(error)).toBe(error);
    expect([isRpcError(error), isRpcError(new Error("x"))]).toEqual([true, false]);
  });

  test.each([
    ["deadline", "DEADLINE_EXCEEDED"],
    ["client_gone", "CANCELLED"],
    ["shutdown", "CANCELLED"],
  ] as const)("cancelled for %s is %s", (reason, code) => {
    expect(cancelledError(reason).code).toBe(code);
  });
});
