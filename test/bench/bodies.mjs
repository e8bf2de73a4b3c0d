// What is sent: chat requests of a given size, the same each time or another each time.

const TURN = "Write two sentences about foxes, dogs and how quickly one of them jumps. ".repeat(28);

function textOf({ bytes = 0, ...more }) {
  const turns = Array.from({ length: Math.round(bytes / TURN.length) }, (_, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: TURN,
  }));
  return JSON.stringify({
    model: "gpt-bench",
    messages: [
      { role: "system", content: "You are a helpful assistant that answers briefly." },
      ...turns,
      { role: "user", content: "Write two sentences about foxes, dogs and how quickly one of them jumps. ".repeat(6) },
    ],
    temperature: 0.7,
    ...more,
  });
}

/** Gives the same body each time: 600 bytes, or about `bytes` as a talk with turns of 2 KB; the rest are fields of the request. */
export function sameBody(fields = {}) {
  const body = Buffer.from(textOf(fields));
  return () => body;
}

let made = 0;

/** Gives another body each time, over all cases, so that no answer is in a cache. */
export function newBody() {
  const [head, tail] = textOf({ user: "#" }).split("#");
  return () => Buffer.from(`${head}${made++}${tail}`);
}
