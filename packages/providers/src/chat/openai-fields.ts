/**
 * The fields of OpenAI's chat completion and older completion requests. A translating provider maps what it can of them
 * and sends none as it is; a field that is not here may be the provider's own and passes.
 */
export const OPENAI_FIELDS: ReadonlySet<string> = new Set(
  `audio best_of echo extra_body frequency_penalty function_call functions logit_bias logprobs max_completion_tokens
   max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
   prompt_cache_options prompt_cache_retention reasoning reasoning_effort response_format safety_identifier seed service_tier
   stop store stream stream_options suffix temperature tool_choice tools top_logprobs top_p user verbosity
   web_search_options __proto__`.split(/\s+/),
);
