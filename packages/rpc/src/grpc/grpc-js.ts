import { createRequire } from "node:module";
import type * as GrpcJs from "@grpc/grpc-js";
import type * as HealthCheck from "grpc-health-check";

/** From the package's own folder, wherever a bundle has put this file. */
const load = createRequire(createRequire(import.meta.url).resolve("@unigate/rpc/package.json"));

let loaded: typeof GrpcJs | null = null;

/** grpc-js, loaded for the first channel or server: a process whose services are all its own is spared 13 MB and 65 ms. */
export function grpcJs(): typeof GrpcJs {
  if (loaded !== null) return loaded;
  loaded = load("@grpc/grpc-js") as typeof GrpcJs;
  loaded.setLogger({ debug: print, info: print, error: printError });
  return loaded;
}

function print(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** An address that cannot be bound is an error of ours, which says more. */
function printError(text: string): void {
  if (!text.startsWith("No address added")) print(text);
}

/** The health service, which loads a proto compiler. */
export function grpcHealthCheck(): typeof HealthCheck {
  return load("grpc-health-check") as typeof HealthCheck;
}
