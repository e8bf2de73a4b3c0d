import { type LookupAddress, type LookupOptions } from "node:dns";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LOCAL_EGRESS_ALLOW } from "./allow-list.ts";
import { createEgressGuard, type EgressGuard, EgressRefusedError } from "./guard.ts";

const strict = createEgressGuard({ allow: "" });

function reasonOf(guard: EgressGuard, text: string): string {
  const verdict = guard.checkUrl(text);
  return verdict.ok ? "allowed" : verdict.reason;
}

describe("addresses that are spelled plainly", () => {
  test.each([
    "https://api.example.com",
    "https://api.example.com/v1",
    "HTTPS://API.Example.COM/V1?a=b&c=%40",
    "http://example.com:8080/a/b",
    "http://example.com:1/",
    "http://example.com:65535/",
    "https://8.8.8.8/v1",
    "https://[2606:4700:4700::1111]:8443/v1",
    "https://[2606:4700:4700:0:0:0:0:1111]/",
    "https://a.b.c.d.e.f.g.h.i.example",
    "https://xn--bcher-kva.example/",
    `https://example.com/${"a".repeat(2028)}`,
  ])("%s passes", (text) => {
    const verdict = strict.checkUrl(text);
    expect(verdict).toEqual({ ok: true, url: new URL(text) });
  });
});

describe("spelling that is refused", () => {
  test.each([
    ["a", "does not start with"],
    ["", "does not start with"],
    ["api.example.com", "does not start with"],
    ["ftp://example.com", "does not start with"],
    ["file:///etc/passwd", "does not start with"],
    ["javascript:alert(1)", "does not start with"],
    ["gopher://example.com", "does not start with"],
    ["//example.com", "does not start with"],
    ["http:example.com", "does not start with"],
    ["http:/example.com", "does not start with"],
    ["https://user:pass@example.com", "contains @"],
    ["https://user@example.com", "contains @"],
    ["https://example.com@127.0.0.1/", "contains @"],
    ["https://example.com/a@b", "contains @"],
    ["https://example.com/#x", "fragment"],
    ["https://example.com#.evil.com", "fragment"],
    ["https://exa mple.com", "space"],
    [" https://example.com", "space"],
    ["https://example.com\n", "space"],
    ["https://exa\tmple.com", "space"],
    ["https://exam\u0000ple.com", "space"],
    ["https://example.com/\u007f", "space"],
    ["https://example.com/<x>", "space"],
    ["https://example.com/{x}", "space"],
    ["https://example.com/a|b", "space"],
    ["https:\\\\example.com", "space"],
    ["https://example.com\\@evil.com", "space"],
    ["https://example.com/a^b", "space"],
    [`https://example.com/${"a".repeat(2029)}`, "longer than 2048"],
    ["https://", "not a URL"],
    ["https:///example.com", "not written plainly"],
    ["https:///[2606:4700::1]", "not written plainly"],
    ["https://[::1", "not a URL"],
    ["https://example.com:65536/", "not a URL"],
    ["https://example.com:0/", "port"],
    ["https://example.com:/", "port"],
    ["https://[2606:4700::1]:0/", "port"],
    ["https://example.com:000443/", "port"],
    ["https://example.com./", "ends with a dot"],
    ["https://example.com.", "ends with a dot"],
    ["https://a..example.com/", "single dots"],
    ["https://.example.com/", "single dots"],
    ["https://under_score.example.com/", "a-z"],
    ["https://exa*mple.com/", "a-z"],
    [`https://${"a".repeat(64)}.example/`, "a-z"],
    ["https://a.b.c.d.e.f.g.h.i.j.example/", "more than 10 labels"],
    ["https://bücher.example/", "not written plainly"],
    ["https://ｅxample.com/", "not written plainly"],
    ["https://%65xample.com/", "not written plainly"],
    ["https://example。com/", "not written plainly"],
    ["http://2130706433/", "not written plainly"],
    ["http://0x7f000001/", "not written plainly"],
    ["http://0x7f.1/", "not written plainly"],
    ["http://017700000001/", "not written plainly"],
    ["http://0177.0.0.1/", "not written plainly"],
    ["http://127.1/", "not written plainly"],
    ["http://127.0.1/", "not written plainly"],
    ["http://0/", "not written plainly"],
    ["http://127.0.0.1./", "not written plainly"],
    ["http://08.8.8.8/", "not a URL"],
    ["http://8.8.2056/", "not written plainly"],
    ["http://134744072/", "not written plainly"],
    ["http://①②⑦.0.0.1/", "not written plainly"],
    ["http://1.2.3.4.5/", "not a URL"],
    ["http://256.1.1.1/", "not a URL"],
  ])("%j", (text, reason) => {
    const open = createEgressGuard({ allow: "0.0.0.0/0,::/0,*.example,example.com" });
    expect(reasonOf(strict, text)).toContain(reason);
    expect(reasonOf(open, text)).toContain(reason);
  });
});

describe("places that are refused unless allowed", () => {
  test.each([
    ["http://127.0.0.1:11434/v1", "127.0.0.0/8"],
    ["http://127.0.0.1", "127.0.0.1"],
    ["http://10.1.2.3/", "10.0.0.0/8"],
    ["http://172.16.0.1/", "172.16.0.0/12"],
    ["http://192.168.1.1/", "192.168.1.0/24"],
    ["http://100.64.0.1/", "100.64.0.0/10"],
    ["http://169.254.1.1/", "169.254.0.0/16"],
    ["http://0.0.0.0/", "0.0.0.0"],
    ["http://224.0.0.1/", "224.0.0.0/4"],
    ["http://[::1]:8080/", "::1"],
    ["http://[::]/", "::/128"],
    ["http://[fd12:3456::1]/", "fc00::/7"],
    ["http://[fe80::1]/", "fe80::/10"],
    ["http://[::ffff:127.0.0.1]/", "127.0.0.0/8"],
    ["http://[::ffff:7f00:1]/", "127.0.0.0/8"],
    ["http://[64:ff9b::a00:1]/", "10.0.0.0/8"],
    ["http://[2002:a00:1::]/", "10.0.0.0/8"],
    ["http://[::7f00:1]/", "::/96"],
    ["http://localhost:11434/", "localhost"],
    ["http://LOCALHOST:11434/", "localhost"],
    ["http://app.localhost/", "*.localhost"],
    ["http://printer.local/", "*.local"],
    ["http://svc.ns.svc.cluster.local/v1", "*.svc.cluster.local"],
    ["http://host.localdomain/", "*.localdomain"],
    ["http://host.docker.internal/", "host.docker.internal"],
    ["http://wiki.intranet/", "*.intranet"],
    ["http://nas.lan/", "nas.lan"],
    ["http://nas.home/", "*.home"],
    ["http://nas.home.arpa/", "*.home.arpa"],
    ["http://git.corp/", "git.corp"],
    ["http://a.test/", "a.test"],
    ["http://a.invalid/", "a.invalid"],
    ["http://a.onion/", "a.onion"],
  ])("%s, allowed by %s", (text, allow) => {
    expect(reasonOf(strict, text)).toMatch(/private (?:address|name)/);
    expect(reasonOf(createEgressGuard({ allow: "8.8.8.8/32,unrelated,*.unrelated" }), text)).toMatch(/private/);
    expect(reasonOf(createEgressGuard({ allow: ` other.example , ${allow.toUpperCase()} ` }), text)).toBe("allowed");
  });

  test("a suffix is no name and no other suffix", () => {
    const guard = createEgressGuard({ allow: "*.cluster.local" });
    expect(reasonOf(guard, "http://cluster.local/")).toContain("private name");
    expect(reasonOf(guard, "http://evilcluster.local/")).toContain("private name");
    expect(reasonOf(guard, "http://a.b.cluster.local/")).toBe("allowed");
  });
});

describe("cloud metadata is refused whatever is allowed", () => {
  const everything = createEgressGuard({
    allow: `0.0.0.0/0,::/0,169.254.169.254,metadata,metadata.google.internal,*.internal,*.azure.com,instance-data,${LOCAL_EGRESS_ALLOW}`,
  });

  test.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://169.254.170.2/v2/credentials",
    "http://[fd00:ec2::254]/latest/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::a9fe:a9fe]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.0.0.192/",
    "http://metadata/",
    "http://Metadata.Google.Internal/computeMetadata/v1/",
    "http://metadata.goog/",
    "http://metadata.azure.com/",
    "http://metadata.azure.internal/",
    "http://instance-data/",
    "http://instance-data.ec2.internal/",
  ])("%s", (text) => {
    expect(reasonOf(everything, text)).toContain("cloud metadata");
    expect(reasonOf(strict, text)).toContain("cloud metadata");
  });

  test.each(["http://2852039166/", "http://0xa9fea9fe/", "http://169.254.43518/", "http://0251.0376.0251.0376/"])("%s", (text) => {
    expect(everything.checkUrl(text).ok).toBe(false);
  });
});

describe("what is let through", () => {
  test("never has a host that another parser could read as a different one", () => {
    const part = fc.constantFrom(
      "http://",
      "https://",
      "a",
      "127.0.0.1",
      "0x7f",
      ".",
      ":",
      "/",
      "?",
      "[",
      "]",
      "::1",
      "%",
      "2e",
      "1",
      "\u3002",
      "-",
      "_",
      "\t",
      "é",
    );
    const open = createEgressGuard({ allow: "0.0.0.0/0,::/0" });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const text = `http://${parts.join("")}`;
        const verdict = open.checkUrl(text);
        if (!verdict.ok) return;
        const host = /^http:\/\/(\[[^\]]*\]|[^:/?]*)/.exec(text)?.[1] ?? "";
        expect(verdict.url.username + verdict.url.password + verdict.url.hash).toBe("");
        if (!host.startsWith("[")) expect(verdict.url.hostname).toBe(host);
      }),
      { numRuns: 5000 },
    );
  });
});

describe("the text of the allow list", () => {
  test.each(["http://localhost", "localhost:8080", "*", "*.*", "a.*", "10.0.0.0/40", "10.0.0", "ex ample", "[::1]", "a..b", "127.1"])(
    "%j cannot be read",
    (entry) => expect(() => createEgressGuard({ allow: `localhost,${entry}` })).toThrow(`"${entry}"`),
  );

  test.each(["", " , ,", LOCAL_EGRESS_ALLOW])("%j can", (allow) => expect(() => createEgressGuard({ allow })).not.toThrow());

  test("the local one lets loopback and private places pass, and no more", () => {
    const guard = createEgressGuard({ allow: LOCAL_EGRESS_ALLOW });
    for (const host of ["localhost", "127.0.0.1", "[::1]", "10.0.0.1", "192.168.1.4", "ollama.local", "host.docker.internal"])
      expect(reasonOf(guard, `http://${host}:11434/v1`)).toBe("allowed");
    for (const host of ["169.254.1.1", "0.0.0.0", "[fe80::1]", "git.corp"]) expect(reasonOf(guard, `http://${host}/`)).toContain("private");
  });
});

describe("resolving", () => {
  function look(
    guard: EgressGuard,
    name: string,
    options: LookupOptions = { all: true },
  ): Promise<LookupAddress[] | [string, number | undefined]> {
    return new Promise((resolve, reject) => {
      guard.lookup(name, options, (error, address, family) => {
        if (error !== null) reject(error);
        else resolve(Array.isArray(address) ? address : [address, family]);
      });
    });
  }

  const v4 = (address: string): LookupAddress => ({ address, family: 4 });
  const v6 = (address: string): LookupAddress => ({ address, family: 6 });
  const answering = (allow: string, ...answers: LookupAddress[]) => createEgressGuard({ allow, resolve: async () => answers });

  test("hands over the addresses that were checked", async () => {
    const guard = answering("", v6("2606:4700::1"), v4("1.1.1.1"), v4("8.8.8.8"));
    expect(await look(guard, "example.com")).toEqual([v6("2606:4700::1"), v4("1.1.1.1"), v4("8.8.8.8")]);
    expect(await look(guard, "example.com", {})).toEqual(["2606:4700::1", 6]);
    expect(await look(guard, "example.com", { family: 4 })).toEqual(["1.1.1.1", 4]);
    expect(await look(guard, "example.com", { family: "IPv6", all: true })).toEqual([v6("2606:4700::1")]);
  });

  test.each([
    ["loopback", "", [v4("127.0.0.1")]],
    ["a private address among public ones", "", [v4("1.1.1.1"), v4("10.0.0.1")]],
    ["one of a family that was not asked for", "", [v4("1.1.1.1"), v6("::1")]],
    ["a wrapped one", "", [v6("::ffff:127.0.0.1")]],
    ["metadata, everything allowed", "0.0.0.0/0,example.com", [v4("169.254.169.254")]],
    ["metadata among allowed ones", "example.com", [v4("10.0.0.1"), v4("169.254.169.254")]],
    ["wrapped metadata, everything allowed", "::/0,example.com", [v6("64:ff9b::a9fe:a9fe")]],
    ["no address", "", [{ address: "what", family: 4 }]],
  ])("%s is refused", async (_what, allow, answers) => {
    const guard = answering(allow, ...answers);
    await expect(look(guard, "example.com", { family: 4, all: true })).rejects.toBeInstanceOf(EgressRefusedError);
    await expect(look(guard, "example.com", {})).rejects.toMatchObject({ code: "EGRESS_REFUSED" });
  });

  test.each([
    ["an allowed range", "10.0.0.0/8", [v4("10.0.0.1")]],
    ["an allowed name", "EXAMPLE.com", [v4("10.0.0.1"), v6("::1")]],
    ["an allowed suffix", "*.com", [v4("192.168.0.1"), v4("1.1.1.1")]],
  ])("%s passes", async (_what, allow, answers) => {
    expect(await look(answering(allow, ...answers), "Example.com")).toEqual(answers);
  });

  test.each(["metadata.google.internal", "metadata", "printer.local"])("%s is refused before it is resolved", async (name) => {
    const guard = createEgressGuard({ allow: "", resolve: () => Promise.reject(new Error("resolved")) });
    await expect(look(guard, name)).rejects.toBeInstanceOf(EgressRefusedError);
  });

  test("no answer and a resolver's error are told as such", async () => {
    await expect(look(answering(""), "example.com")).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(look(answering("", v4("1.1.1.1")), "example.com", { family: 6 })).rejects.toMatchObject({ code: "ENOTFOUND" });
    const failing = createEgressGuard({ allow: "", resolve: () => Promise.reject(new Error("no resolver")) });
    await expect(look(failing, "example.com")).rejects.toThrow("no resolver");
  });

  test("the system's resolver is used by default", async () => {
    const addresses = (await look(createEgressGuard({ allow: "localhost" }), "localhost")) as LookupAddress[];
    expect(addresses.map(({ address }) => address)).toContain("127.0.0.1");
    await expect(look(createEgressGuard({ allow: "" }), "localhost")).rejects.toBeInstanceOf(EgressRefusedError);
  });
});
