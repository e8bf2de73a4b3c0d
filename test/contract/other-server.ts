import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { CallsDefinition } from "@unigate/contracts";
import { frame } from "./plain-http2.ts";

const OPEN = `/${CallsDefinition.fullName}/${CallsDefinition.methods.open.name}`;
const HEADERS = { ":status": 200, "content-type": "application/grpc" };

/** A gRPC server that knows nothing of ours: frames and headers by hand. Each plain call is answered with its request. */
export interface OtherServer {
  readonly address: string;
  /** How many plain calls came. */
  plainCalls(): number;
  /** How many streams clients asked for. */
  streams(): number;
  close(): void;
}

export interface OtherServerOptions {
  readonly sharesStreams: boolean;
  /** Whether shared streams are read; `onBatch` gets what comes, and how to answer it. */
  readonly reads?: boolean;
  readonly onBatch?: (message: Buffer, send: (answer: Uint8Array) => void) => void;
}

export async function startOtherServer(options: OtherServerOptions): Promise<OtherServer> {
  let plainCalls = 0;
  let streams = 0;
  const sessions = new Set<ServerHttp2Session>();

  function plain(stream: ServerHttp2Stream): void {
    plainCalls += 1;
    let request = Buffer.alloc(0);
    stream.on("data", (bytes: Buffer) => {
      request = Buffer.concat([request, bytes]);
    });
    stream.on("end", () => {
      stream.respond(HEADERS, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(request);
    });
  }

  function shared(stream: ServerHttp2Stream): void {
    streams += 1;
    if (!options.sharesStreams) return stream.respond({ ...HEADERS, "grpc-status": "12", "grpc-message": "unknown" }, { endStream: true });
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    if (options.reads === false) return;
    let rest = Buffer.alloc(0);
    stream.on("data", (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        options.onBatch?.(rest.subarray(5, end), (answer) => stream.write(frame(answer)));
        rest = rest.subarray(end);
      }
    });
    stream.on("end", () => stream.end());
  }

  const server = createServer();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    if (headers[":path"] === OPEN) shared(stream);
    else plain(stream);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    plainCalls: () => plainCalls,
    streams: () => streams,
    close() {
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}
