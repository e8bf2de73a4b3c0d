import { RpcError } from "./errors.ts";
import type { Authenticate } from "./mesh-token.ts";

/**
 * Who may call what, by the services of the called one: the start of a method's path ("/unigate.cache.v1.Cache/", or a
 * method's whole path) and the services that may call it. The longest start counts; what has none nobody may call.
 */
export type CallerTable = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** The services that may call a method; `path` is "/package.Service/Method". */
export function callersOf(table: CallerTable, path: string): readonly string[] {
  let [longest, callers]: [string, readonly string[]] = ["", []];
  for (const rows of Object.values(table)) {
    for (const [start, allowed] of Object.entries(rows)) {
      if (path.startsWith(start) && start.length > longest.length) [longest, callers] = [start, allowed];
    }
  }
  return callers;
}

/** Lets in callers whose certificate is for a service that the table names; PERMISSION_DENIED says who may not call what. */
export function callerCheck(table: CallerTable): Authenticate {
  // As many as there are methods: no others are asked for.
  const known = new Map<string, readonly string[]>();
  return ({ services }, path) => {
    if (services === null) return new RpcError("UNAUTHENTICATED", "The caller showed no certificate, which this mesh asks for.");
    let callers = known.get(path);
    if (callers === undefined) {
      callers = callersOf(table, path);
      known.set(path, callers);
    }
    for (const service of services) if (callers.includes(service)) return null;
    return new RpcError(
      "PERMISSION_DENIED",
      `${services.join(", ")} may not call ${labelOf(path)}; ${callers.length === 0 ? "nobody" : callers.join(", ")} may.`,
    );
  };
}

/** "Cache.Lookup" of "/unigate.cache.v1.Cache/Lookup". */
function labelOf(path: string): string {
  return path.slice(path.lastIndexOf(".", path.lastIndexOf("/")) + 1).replace("/", ".");
}
