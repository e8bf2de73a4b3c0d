import { describe, expect, test } from "vitest";
import { bindError, listenAddresses } from "./listen.ts";

describe("where to listen", () => {
  test.each([
    [":50051", false, ["127.0.0.1:50051"]],
    [":50051", true, ["[::]:50051", "0.0.0.0:50051"]],
    ["127.0.0.1:0", false, ["127.0.0.1:0"]],
    ["127.9.9.9:1", false, ["127.9.9.9:1"]],
    ["[::1]:1", false, ["[::1]:1"]],
    ["localhost:1", false, ["localhost:1"]],
    ["0.0.0.0:1", true, ["0.0.0.0:1"]],
    ["[fd00::1]:1", true, ["[fd00::1]:1"]],
    ["edge.mesh:65535", true, ["edge.mesh:65535"]],
    ["unix:/run/a.sock", false, ["unix:/run/a.sock"]],
    [`unix:/${"a".repeat(106)}`, false, [`unix:/${"a".repeat(106)}`]],
  ])("%s, secured %s", (listen, secured, addresses) => {
    expect(listenAddresses(listen, secured)).toEqual(addresses);
  });

  test.each([
    "",
    "50051",
    "host",
    "host:",
    "host:port",
    ":65536",
    "::1:50051",
    "[::1]",
    "a b:1",
    "http://host:1",
    "unix:",
    `unix:/${"a".repeat(107)}`,
  ])("%j is refused", (listen) => {
    expect(() => listenAddresses(listen, true)).toThrow("Cannot listen on");
  });

  test.each(["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "128.0.0.1:1", "localhost.example.com:1", "127.0.0.1.example.com:1"])(
    "%s is refused when anybody may call",
    (listen) => {
      expect(() => listenAddresses(listen, false)).toThrow("Set a mesh token, or listen on 127.0.0.1:1.");
    },
  );
});

test.each([
  ["127.0.0.1:80", "listen EADDRINUSE", "the port is in use"],
  ["unix:/a", "listen EADDRINUSE", "the socket exists"],
  ["127.0.0.1:80", "listen EACCES", "Take one over 1023"],
  ["unix:/a", "listen EACCES", "its folder does not exist"],
  ["10.0.0.1:80", "listen EADDRNOTAVAIL", "does not have that address"],
  ["nowhere:80", "Name resolution failed", "Name resolution failed"],
])("%s: %s says what to do", (address, cause, text) => {
  const error = bindError(address, new Error(cause));
  expect(error.message).toMatch(new RegExp(`^Cannot listen on ${address.replaceAll(/[.]/g, "\\.")}: .*${text}`));
});
