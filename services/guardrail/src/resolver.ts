import type { Sealed, Tenant } from "@unigate/contracts";
import type { Call } from "@unigate/core";

export interface Resolver {
  resolve<T>(
    ref: { kind: string; id: string; tenant: Tenant; keyHash?: Buffer },
    call: Call,
  ): Promise<{ value: T; sealed: Sealed | undefined; version: string } | null>;
}
