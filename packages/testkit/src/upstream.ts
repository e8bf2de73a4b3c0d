import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "./until.ts";
import { errorReply, type Piece, type Reply } from "./upstream-reply.ts";

/** A request that reached the upstream. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  /** What has come of the body. */
  readonly body: Buffer;
  readonly bodyBytes: number;
  /** The body ended as it should. */
  readonly complete: boolean;
  /** The answer was sent to its end. */
  readonly answered: boolean;
  /** The other side closed the connection before the answer ended. */
  readonly closed: boolean;
}

/** One scripted answer, or how to make it from the request (whose body is complete then). */
export type Script = Reply | ((request: ReceivedRequest) => Reply | Promise<Reply>);

/** A provider on loopback that does what a test says and remembers what it was sent. */
export interface Upstream {
  /** "http://127.0.0.1:<port>", without a slash at the end. */
  readonly origin: string;
  readonly requests: readonly ReceivedRequest[];
  /** Answers for the next requests, one each, in the order the requests come. */
  script(...answers: Script[]): void;
  /** The answer when nothing is scripted; without one that is a 500 that says so. */
  always(answer: Script): void;
  /** Forgets requests and scripts. Requests under way stay as they are. */
  reset(): void;
  /** The request of that number (from 0), once it has come. */
  request(index: number): Promise<ReceivedRequest>;
  /** Resolves when the other side has closed the connection of that request before its answer ended. */
  closed(index: number): Promise<void>;
  close(): Promise<void>;
}

const UNSCRIPTED: Reply = errorReply(500, "the test scripted no answer for this request");

/** Starts an upstream on a free port of loopback. */
export async function startUpstream(): Promise<Upstream> {
  let requests: Received[] = [];
  let scripts: Script[] = [];
  let fallback: Script = UNSCRIPTED;

  const server = createServer({ keepAliveTimeout: 60_000, requestTimeout: 0 }, (request, response) => {
    const received = new Received(request, response);
    requests.push(received);
    const script = scripts.shift() ?? fallback;
    request.on("end", () => {
      received.complete = true;
      void answer(received, script, response);
    });
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  function request(index: number): Promise<ReceivedRequest> {
    return until(`request ${index} at the upstream (${requests.length} came)`, () => requests[index]);
  }

  return {
    origin: `http://127.0.0.1:${port}`,
    get requests() {
      return requests;
    },
    script: (...answers) => void scripts.push(...answers),
    always(answer) {
      fallback = answer;
    },
    reset() {
      requests = [];
      scripts = [];
      fallback = UNSCRIPTED;
    },
    request,
    async closed(index) {
      const found = await request(index);
      await until(`the connection of request ${index} to be closed by the other side`, () => found.closed);
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Received implements ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: ReceivedRequest["headers"];
  readonly rawHeaders: readonly string[];
  complete = false;
  answered = false;
  closed = false;
  bodyBytes = 0;
  readonly #chunks: Buffer[] = [];

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.method = request.method ?? "";
    this.url = request.url ?? "";
    this.headers = request.headers;
    this.rawHeaders = request.rawHeaders;
    request.on("data", (chunk: Buffer) => {
      this.bodyBytes += chunk.length;
      this.#chunks.push(chunk);
    });
    request.on("error", nothing);
    response.on("error", nothing);
    response.on("close", () => {
      if (!this.answered) this.closed = true;
    });
    response.on("finish", () => {
      this.answered = true;
    });
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

async function answer(received: Received, script: Script, response: ServerResponse): Promise<void> {
  const reply = typeof script === "function" ? await script(received) : script;
  if (!(await play(reply.before, response, false))) return;
  if (reply.raw !== null) {
    response.socket?.end(reply.raw);
    return;
  }
  if (reply.head) {
    response.writeHead(reply.status, flatHeaders(reply.headers));
    response.flushHeaders();
    if (!(await play(reply.pieces, response, true))) return;
  }
  if (reply.ending === "end") response.end();
  else if (reply.ending === "cut") cut(received, response);
}

/** A reset that the test asked for is not the other side's doing. Bytes written before it arrive first. */
function cut(received: Received, response: ServerResponse): void {
  received.answered = true;
  const { socket } = response;
  if (socket === null) return;
  if (socket.writableLength === 0) socket.destroy();
  else socket.once("drain", () => socket.destroy());
}

/** Writes or waits for each piece; false when the other side has gone. */
async function play(pieces: readonly Piece[], response: ServerResponse, write: boolean): Promise<boolean> {
  for (const piece of pieces) {
    if (response.destroyed) return false;
    if (typeof piece === "number") await new Promise((resolve) => setTimeout(resolve, piece));
    else if (piece instanceof Promise) await piece;
    else if (typeof piece === "function") piece();
    else if (write) await written(response, piece);
  }
  return !response.destroyed;
}

function written(response: ServerResponse, piece: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    response.once("close", resolve);
    response.write(piece, () => {
      response.off("close", resolve);
      resolve();
    });
  });
}

/** Flat pairs, so that a header may stand more than once. */
function flatHeaders(headers: Reply["headers"]): string[] {
  return Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" ? [name, value] : value.flatMap((item) => [name, item]),
  );
}

function nothing(): void {}
