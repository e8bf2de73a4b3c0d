// What everything is compared with: the least a Node proxy can do. node:http and undici, the JSON parsed once, forwarded.
import { createServer } from "node:http";
import { Pool } from "undici";

const pool = new Pool(process.env.BENCH_UPSTREAM, { connections: 256, pipelining: 1 });

const server = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    JSON.parse(body.toString("utf8"));
    pool.dispatch(
      { method: "POST", path: "/v1/chat/completions", headers: { "content-type": "application/json" }, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, status, headers) {
          response.writeHead(status, { "content-type": headers["content-type"] });
        },
        onResponseData(_controller, data) {
          response.write(data);
        },
        onResponseEnd() {
          response.end();
        },
        onResponseError() {
          response.destroy();
        },
      },
    );
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send({ port: server.address().port }));
process.on("disconnect", () => process.exit());
