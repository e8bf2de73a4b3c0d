// Made by `pnpm gen` from the folders beside this file. Do not edit.
import anthropic from "./anthropic/index.ts";
import cerebras from "./cerebras/index.ts";
import dashscope from "./dashscope/index.ts";
import deepinfra from "./deepinfra/index.ts";
import deepseek from "./deepseek/index.ts";
import type { Provider } from "./define.ts";
import fireworksAi from "./fireworks-ai/index.ts";
import google from "./google/index.ts";
import groq from "./groq/index.ts";
import huggingface from "./huggingface/index.ts";
import mistralAi from "./mistral-ai/index.ts";
import mock from "./mock/index.ts";
import moonshot from "./moonshot/index.ts";
import nebius from "./nebius/index.ts";
import ollama from "./ollama/index.ts";
import openai from "./openai/index.ts";
import openrouter from "./openrouter/index.ts";
import perplexityAi from "./perplexity-ai/index.ts";
import sambanova from "./sambanova/index.ts";
import togetherAi from "./together-ai/index.ts";
import xAi from "./x-ai/index.ts";
import zAi from "./z-ai/index.ts";

export const providers: readonly Provider[] = [
  anthropic,
  cerebras,
  dashscope,
  deepinfra,
  deepseek,
  fireworksAi,
  google,
  groq,
  huggingface,
  mistralAi,
  mock,
  moonshot,
  nebius,
  ollama,
  openai,
  openrouter,
  perplexityAi,
  sambanova,
  togetherAi,
  xAi,
  zAi,
];
