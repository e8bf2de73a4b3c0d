import { type GatewayMode } from "@unigate/testkit";
import { type Answer, chat, requestHead, target, withConfig } from "./http.ts";
import { logsOf } from "./logs.ts";
import { useSharedStage } from "./shared-stage.ts";
import { type Stage, useStage } from "./stage.ts";

/** An error as a provider says it inside a stream. */
export const ERROR_EVENT = { error: { message: "the model is on fire", type: "overloaded_error", param: null, code: "fire" } };

/** What suites of streamed answers ask, and what they look at after. */
export interface Streams {
  readonly stage: Stage;
  ask(config: object, body?: object): Promise<Answer>;
  /** A whole request as a client without a library writes it. */
  chatHead(question: object): string;
  here(over?: object): Record<string, unknown>;
  /** A fallback from the upstream to itself. */
  two(over?: object): object;
  /** What the last of `count` records of an answer says. */
  outcomeOf(answer: Answer, count?: number): Promise<Record<string, unknown>>;
}

export function useStreams(mode: GatewayMode, env?: Readonly<Record<string, string>>): Streams {
  const stage = env === undefined ? useSharedStage(mode) : useStage(mode, { env });
  const here = (over: object = {}): Record<string, unknown> => target(stage.upstream.origin, over);
  return {
    stage,
    here,
    two: (over = {}) => ({ strategy: { mode: "fallback" }, targets: [here(over), here()] }),
    ask: (config, body = {}) => chat(stage.gateway, stage.key, withConfig(config), { stream: true, ...body }),
    chatHead(question) {
      const body = JSON.stringify(question);
      const headers = { "x-gateway-api-key": stage.key, ...withConfig(here()), "content-type": "application/json" };
      return requestHead("POST /v1/chat/completions", { ...headers, "content-length": String(body.length) }) + body;
    },
    async outcomeOf(answer, count = 1) {
      const records = await logsOf(stage.gateway, stage.key, String(answer.headers["x-gateway-trace-id"]), count);
      const { outcome, status, stream, error, option_path: option } = records.at(-1) ?? {};
      return { outcome, status, stream, option, code: (error as { code?: string } | null)?.code ?? null };
    },
  };
}
