// The upstream of the bench: a 740-byte chat answer, or a stream of 50 chunks, as fast as Node gives it.
import { createServer } from "node:http";

const filler = "The quick brown fox jumps over the lazy dog and keeps running. ".repeat(5);
const answer = Buffer.from(
  JSON.stringify({
    id: "chatcmpl-bench000000000000000000",
    object: "chat.completion",
    created: 1700000000,
    model: "gpt-bench",
    choices: [{ index: 0, message: { role: "assistant", content: filler, refusal: null }, logprobs: null, finish_reason: "stop" }],
    usage: {
      prompt_tokens: 19,
      completion_tokens: 70,
      total_tokens: 89,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
    system_fingerprint: "fp_bench",
  }),
);

const chunk = (delta, finish) =>
  Buffer.from(
    `data: ${JSON.stringify({
      id: "chatcmpl-bench000000000000000000",
      object: "chat.completion.chunk",
      created: 1700000000,
      model: "gpt-bench",
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    })}\n\n`,
  );
const chunks = [
  chunk({ role: "assistant", content: "" }, null),
  ...Array.from({ length: 48 }, (_, index) => chunk({ content: ` word${index}` }, null)),
  chunk({}, "stop"),
  Buffer.from("data: [DONE]\n\n"),
];

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      response.end(answer);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    let index = 0;
    const next = () => {
      response.write(chunks[index++]);
      if (index < chunks.length) setImmediate(next);
      else response.end();
    };
    next();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit());
