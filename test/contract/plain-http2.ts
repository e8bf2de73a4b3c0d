import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";

/** A gRPC client that knows nothing of ours: frames and headers by hand. */
export function plainClient(address: string): { call(path: string, headers?: Record<string, string>): ClientHttp2Stream; close(): void } {
  const session: ClientHttp2Session = connect(`http://${address}`);
  session.on("error", () => {});
  return {
    call(path, headers = {}) {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers", ...headers });
      stream.on("error", () => {});
      return stream;
    },
    close: () => session.destroy(),
  };
}

export function frame(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** The status that a call ends with, whether it comes behind messages or alone. */
export function statusOf(stream: ClientHttp2Stream): Promise<{ code: number; message: string }> {
  return new Promise((resolve) => {
    const take = (headers: Record<string, unknown>) => {
      const code = headers["grpc-status"];
      if (code !== undefined) resolve({ code: Number(code), message: decodeURI(String(headers["grpc-message"])) });
    };
    stream.on("response", take);
    stream.on("trailers", take);
    stream.resume();
  });
}
