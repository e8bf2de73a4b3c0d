import type { Server } from "@grpc/grpc-js";
import { grpcHealthCheck } from "./grpc-js.ts";

/** Adds grpc.health.v1 to a server: NOT_SERVING for the server as a whole and for each service, until told otherwise. */
export function addHealth(server: Server, services: readonly string[]): (serving: boolean) => void {
  const names = ["", ...services];
  const health = new (grpcHealthCheck().HealthImplementation)(Object.fromEntries(names.map((name) => [name, "NOT_SERVING"])));
  health.addToServer(server);
  return (serving) => {
    for (const name of names) health.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  };
}
