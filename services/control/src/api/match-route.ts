import type { Endpoint } from "./asked.ts";

export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** One endpoint of the management API. */
export interface ApiRoute {
  readonly method: Method;
  /** Below /v1; a name in braces stands for one segment. */
  readonly path: string;
  /** Any one is enough. */
  readonly scopes: readonly string[];
  /** Only the admin key may use it, whatever the scopes of another. */
  readonly adminOnly?: true;
  readonly endpoint: Endpoint;
}

export type MatchedRoute =
  | { readonly kind: "found"; readonly route: ApiRoute; readonly parameters: Readonly<Record<string, string>> }
  | { readonly kind: "wrong_method"; readonly allow: readonly Method[] }
  | { readonly kind: "unknown" };

/** The route of a method and a path. Where two fit, the one listed first. */
export function matchRoute(routes: readonly ApiRoute[], method: string, segments: readonly string[]): MatchedRoute {
  const fitting = routes.flatMap((route) => {
    const parameters = parametersOf(route.path, segments);
    return parameters === null ? [] : [{ kind: "found", route, parameters } as const];
  });
  const found = fitting.find(({ route }) => route.method === method);
  if (found !== undefined) return found;
  if (fitting.length === 0) return { kind: "unknown" };
  return { kind: "wrong_method", allow: [...new Set(fitting.map(({ route }) => route.method))] };
}

function parametersOf(path: string, segments: readonly string[]): Readonly<Record<string, string>> | null {
  const pattern = path.split("/").slice(1);
  if (pattern.length !== segments.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, step] of pattern.entries()) {
    const given = segments[index] ?? "";
    if (!step.startsWith("{")) {
      if (step !== given) return null;
    } else if (given === "") return null;
    else parameters[step.slice(1, -1)] = given;
  }
  return parameters;
}
