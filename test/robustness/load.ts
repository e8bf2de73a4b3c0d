import { makeGatewayKey } from "@unigate/secrets";
import { chatReply, chatStreamReply, errorReply, type Gateway, type ReceivedRequest, type Reply, type Upstream } from "@unigate/testkit";
import { type Answer, readStream, send, target, withConfig } from "../e2e/http.ts";
import type { ClientSide, Span, UpstreamSide } from "./history.ts";
import { pause } from "./pause.ts";
import type { Random } from "./seeded.ts";

/** What a request of the load is like. A stranger has a key that nobody made. */
export const KINDS = ["unary", "stream", "cached", "limited", "fallback", "stranger"] as const;
export type Kind = (typeof KINDS)[number];

/** How often each comes, of all. */
const OFTEN: readonly Kind[] = [
  "unary",
  "unary",
  "unary",
  "stream",
  "stream",
  "cached",
  "cached",
  "limited",
  "limited",
  "fallback",
  "fallback",
];
const STRANGERS = 0.03;
const LIMIT_NAME = "limited";

/** A request of the load, as its client saw it. */
export interface Asked extends ClientSide {
  readonly kind: Kind;
}

export interface LoadKeys {
  readonly plain: string;
  /** Under the limit that the history is checked for. */
  readonly limited: string;
}

export interface Load {
  readonly gateway: Gateway;
  readonly upstream: Upstream;
  readonly keys: LoadKeys;
  readonly random: Random;
  /** Begins every trace. */
  readonly name: string;
  /** Mean time between two requests, ms. */
  readonly everyMs: number;
}

/** More at once would say how fast the machine is, and nothing else. */
const MOST_AT_ONCE = 12;

/** Requests that come whether or not those before them were answered, until it is stopped. Gives them all once they have ended. */
export function startLoad(load: Load): { readonly asked: readonly Asked[]; stop(): Promise<readonly Asked[]> } {
  const asked: Asked[] = [];
  const running = new Set<Promise<void>>();
  let isOver = false;
  async function run(): Promise<void> {
    for (let index = 0; !isOver; index++) {
      const kind = load.random.next() < STRANGERS ? "stranger" : load.random.oneOf(OFTEN);
      const one = ask(load, kind, `${load.name}-${index}`).then((request) => {
        asked.push(request);
        running.delete(one);
      });
      running.add(one);
      await pause(load.random.next() * 2 * load.everyMs);
      if (running.size >= MOST_AT_ONCE) await Promise.race(running);
    }
    await Promise.all(running);
  }
  const done = run();
  return {
    asked,
    async stop() {
      isOver = true;
      await done;
      return asked;
    },
  };
}

async function ask({ gateway, upstream, keys }: Load, kind: Kind, trace: string): Promise<Asked> {
  const startedAt = Date.now();
  const key = kind === "stranger" ? makeGatewayKey() : kind === "limited" ? keys.limited : keys.plain;
  const headers = { "x-gateway-api-key": key, "x-gateway-trace-id": trace, ...withConfig(configOf(kind, upstream.origin)) };
  // What may be answered from the cache says nothing of its own, so the upstream cannot tell whose it is.
  const words = kind === "cached" ? { content: `cached ${trace.at(-1)}` } : { content: "hello", name: trace };
  const body = { model: "gpt-test", stream: kind === "stream", messages: [{ role: "user", ...words }] };
  const common = {
    trace,
    kind,
    startedAt,
    stranger: kind === "stranger",
    targets: kind === "fallback" ? 2 : 1,
    ...(kind === "limited" ? { limit: LIMIT_NAME } : {}),
  };
  try {
    const answer = await send(gateway, "/v1/chat/completions", { headers, body });
    const isWhole = answer.status !== 200 || kind !== "stream" || readStream(answer.text).done;
    const counted = answer.headers["x-ratelimit-limit-requests"] !== undefined;
    return { ...common, endedAt: Date.now(), status: isWhole ? answer.status : null, counted };
  } catch {
    return { ...common, endedAt: Date.now(), status: null };
  }
}

/** Passed, and its limits counted it. */
export function isCounted({ status, headers }: Answer): boolean {
  return status === 200 && headers["x-ratelimit-limit-requests"] !== undefined;
}

/** After failures Redis is given a rest of about a second; whatever was slow may have met one. */
export function slowSpans(client: readonly Asked[]): Span[] {
  const slow = client.filter(({ kind, startedAt, endedAt }) => kind === "limited" && endedAt - startedAt >= 75);
  return slow.map(({ startedAt, endedAt }) => ({ from: startedAt, to: endedAt + 1_500 }));
}

/** Targets are told apart by their path. */
function configOf(kind: Kind, origin: string): object {
  const first = target(`${origin}/first`);
  if (kind === "cached") return { ...first, cache: { mode: "simple" } };
  if (kind === "fallback") return { strategy: { mode: "fallback" }, targets: [target(`${origin}/failing`), first] };
  return first;
}

/** Answers what the load asks. The target "failing" fails always; "hanging" begins a stream and never ends it. */
export function answerLoad(upstream: Upstream): UpstreamSide[] {
  const seen: UpstreamSide[] = [];
  upstream.always((request) => {
    const target = request.url.split("/")[1] ?? "";
    const trace = traceOf(request);
    if (trace !== null) seen.push({ trace, target, at: Date.now() });
    if (target === "failing") return errorReply(500, "failing always");
    return target === "hanging" ? chatStreamReply(["one ", new Promise(() => {})]) : replyTo(request);
  });
  return seen;
}

function traceOf({ body }: ReceivedRequest): string | null {
  const { messages } = JSON.parse(String(body)) as { messages: { name?: string }[] };
  return messages[0]?.name ?? null;
}

function replyTo({ body }: ReceivedRequest): Reply {
  return String(body).includes('"stream":true') ? chatStreamReply(["one ", 5, "two ", 5, "three"]) : chatReply("ok", { before: [3] });
}
