// Where webhooks may and may not go, form by form.

import { describe, expect, test } from "vitest";
import {
  type AddressClass,
  addressPolicy,
  checkWebhookUrl,
  classifyAddress,
  permits,
} from "../../src/domain/addresses.ts";

const STRICT = { allow_private: false, allow_loopback: false };
const EMBEDDED = { allow_private: false, allow_loopback: true };
const INSIDE = { allow_private: true, allow_loopback: false };

describe("addresses", () => {
  const classes: Record<AddressClass, string> = {
    public: `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255
      128.0.0.0 169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0
      198.17.255.255 198.20.0.0 223.255.255.255 2606:4700:4700::1111 2a00:1450:4001:81b::200e
      2001:200::1 2001:4860:4860::8888 3ffe::1 ::ffff:8.8.8.8 ::ffff:808:808 2003::1`,
    loopback:
      "127.0.0.1 127.255.255.255 127.1.2.3 ::1 0:0:0:0:0:0:0:1 ::ffff:127.0.0.1 ::ffff:7f00:1",
    private: `10.0.0.0 10.255.255.255 100.64.0.1 100.127.255.255 172.16.0.1 172.31.255.255
      192.168.0.1 192.168.255.255 fc00::1 fd12:3456::1 fdff:ffff:ffff::1 ::ffff:10.0.0.1
      ::FFFF:192.168.1.1`,
    link_local: `169.254.0.0 169.254.169.254 169.254.255.255 fe80::1 febf::1 fec0::1 feff::1
      ::ffff:169.254.169.254 ::ffff:a9fe:a9fe`,
    reserved: `0.0.0.0 0.255.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1
      198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
      100.100.100.200 168.63.129.16 ::ffff:0.0.0.0 :: ::2 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8
      ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 2001::1
      2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1ff::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1
      3fff::1 3fff:fff::1 5f00::1 ff02::1 ffff::1 4000::1 1fff::1 fd00:ec2::254 fd20:ce::254`,
    invalid: `1.2.3 1.2.3.4.5 256.1.1.1 01.2.3.4 0x7f.0.0.1 1.2.3.-4 2130706433 localhost
      example.com ::1::2 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7::8:9 12345::1 g::1
      fe80::1%eth0 [::1] ::1.2.3 ::1.2.3.256 1.2.3.4:: : ::: 1:`,
  };

  for (const [className, list] of Object.entries(classes)) {
    test.each(list.split(/\s+/))(`%s is ${className}`, (ip) => {
      expect(classifyAddress(ip)).toBe(className);
    });
  }

  test("an empty text is no address", () => {
    expect(classifyAddress("")).toBe("invalid");
  });

  test("no switch opens link-local, reserved or invalid ones", () => {
    const opened = (policy: typeof STRICT) =>
      (Object.keys(classes) as AddressClass[]).filter((name) => permits(policy, name));
    expect(opened(STRICT)).toEqual(["public"]);
    expect(opened(EMBEDDED)).toEqual(["public", "loopback"]);
    expect(opened(INSIDE)).toEqual(["public", "loopback", "private"]);
  });
});

describe("a service without DATABASE_URL", () => {
  const embedded = { webhook_allow_private: false, database_url: undefined, base_url: "" };

  test("that only its own machine can call may send to it", () => {
    expect(addressPolicy({ ...embedded, is_public: false })).toEqual(EMBEDDED);
  });

  test("that others can call may not, unless the operator says so", () => {
    expect(addressPolicy({ ...embedded, is_public: true })).toEqual(STRICT);
    const told = { ...embedded, is_public: true, webhook_allow_private: true };
    expect(addressPolicy(told)).toEqual(INSIDE);
  });

  test("with a database of one's own nothing else allows it", () => {
    const own = { ...embedded, database_url: "postgres://db/dues", is_public: false };
    expect(addressPolicy(own)).toEqual(STRICT);
  });
});

const verdict = (url: string, policy: Parameters<typeof checkWebhookUrl>[1]) => {
  const check = checkWebhookUrl(url, policy);
  return check.ok ? "ok" : check.reason;
};

test("an address with an umlaut is judged the same the ten-thousandth time", () => {
  const verdicts = new Set<string>();
  for (let i = 0; i < 20_000; i++) verdicts.add(verdict("https://münchen.example/", STRICT));
  expect([...verdicts]).toEqual(["ok"]);
});

describe("URLs that anyone may register", () => {
  test.each([
    "https://example.com",
    "https://example.com/hooks?tenant=1",
    "https://hooks.example.co.uk/a/b",
    "https://example.com:443/",
    "https://example.com:8443/hook",
    "https://example.com:1024/",
    "https://example.com:65535/",
    "https://EXAMPLE.com/",
    "https://example.com./hook",
    "https://münchen.example/",
    "https://xn--mnchen-3ya.example/",
    "https://my_host.example.com/",
    "https://1e100.net/",
    "https://8.8.8.8/hook",
    "https://[2606:4700:4700::1111]/hook",
    "https://[::ffff:8.8.8.8]/hook",
    "https://127.0.0.1.example.com/",
    "https://localhost.example.com/",
    "https://example.com/#part",
    "https://local.example/",
    `https://example.com/${"a".repeat(2048 - 20)}`,
  ])("%s", (url) => {
    expect(verdict(url, STRICT)).toBe("ok");
  });
});

describe("URLs that are refused", () => {
  const loopback = "points to a loopback address";
  const reserved = "points to a reserved address";
  const linkLocal = "points to a link_local address";
  const inside = "points to a private address";
  const oneLabel = "has a host name of one label";
  const local = "has a host name of a local network";
  const port = "has a port other than 443 or 1024 to 65535";
  const noHttps = "is not an https URL";
  const noUrl = "is not a URL";
  const user = "has a user name or password";
  const characters = "has spaces, control characters or backslashes";

  test.each([
    // This machine, in the many ways to write it.
    ["https://127.0.0.1/", loopback],
    ["https://127.0.0.1:8443/", loopback],
    ["https://127.1/", loopback],
    ["https://127.0.1/", loopback],
    ["https://127.255.255.254/", loopback],
    ["https://2130706433/", loopback],
    ["https://0x7f000001/", loopback],
    ["https://0x7f.0.0.1/", loopback],
    ["https://0x7f.1/", loopback],
    ["https://0177.0.0.1/", loopback],
    ["https://017700000001/", loopback],
    ["https://127.0.0.1./", loopback],
    ["https:127.0.0.1", loopback],
    ["https:/127.0.0.1/", loopback],
    ["https:////127.0.0.1/", loopback],
    ["HTTPS://127.0.0.1/", loopback],
    ["https://１２７.０.０.１/", loopback],
    ["https://127。0。0。1/", loopback],
    ["https://①②⑦.0.0.1/", loopback],
    ["https://%31%32%37.0.0.1/", loopback],
    ["https://[::1]/", loopback],
    ["https://[0:0:0:0:0:0:0:1]/", loopback],
    ["https://[::ffff:127.0.0.1]/", loopback],
    ["https://[::ffff:7f00:1]/", loopback],
    ["https://[0:0:0:0:0:ffff:127.0.0.1]/", loopback],
    ["https://localhost/", oneLabel],
    ["https://localhost./", oneLabel],
    ["https://LOCALHOST:8443/", oneLabel],
    ["https://a.localhost/", local],
    ["https://a.localhost./", local],
    // All addresses, and what embeds one.
    ["https://0.0.0.0/", reserved],
    ["https://0/", reserved],
    ["https://0x0/", reserved],
    ["https://[::]/", reserved],
    ["https://[::127.0.0.1]/", reserved],
    ["https://[64:ff9b::7f00:1]/", reserved],
    ["https://[64:ff9b::10.0.0.1]/", reserved],
    ["https://[2002:7f00:1::]/", reserved],
    ["https://[2002:c0a8:101::1]/", reserved],
    ["https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", reserved],
    ["https://[2001:db8::1]/", reserved],
    ["https://[ff02::1]/", reserved],
    ["https://224.0.0.1/", reserved],
    ["https://255.255.255.255/", reserved],
    ["https://192.0.2.1/", reserved],
    // Other machines of a private network.
    ["https://10.0.0.1/", inside],
    ["https://10.1/", inside],
    ["https://167772161/", inside],
    ["https://012.0.0.1/", inside],
    ["https://172.16.0.1/", inside],
    ["https://172.31.255.255/", inside],
    ["https://192.168.1.1/", inside],
    ["https://192.168.257/", inside],
    ["https://100.64.0.1/", inside],
    ["https://[fc00::1]/", inside],
    ["https://[fd12:3456:789a::1]/", inside],
    ["https://[::ffff:192.168.1.1]/", inside],
    ["https://router/", oneLabel],
    ["https://printer.local/", local],
    ["https://vault.internal/", local],
    ["https://metadata.google.internal/", local],
    ["https://nas.home.arpa/", local],
    ["https://NAS.HOME.ARPA./", local],
    // Cloud metadata.
    ["https://169.254.169.254/latest/meta-data/", linkLocal],
    ["https://2852039166/", linkLocal],
    ["https://0xa9fea9fe/", linkLocal],
    ["https://[::ffff:169.254.169.254]/", linkLocal],
    ["https://[fe80::1]/", linkLocal],
    ["https://[fd00:ec2::254]/", reserved],
    ["https://100.100.100.200/", reserved],
    ["https://168.63.129.16/", reserved],
    // Schemes, ports, users and things that are no URL.
    ["http://example.com/", noHttps],
    ["http://127.0.0.1/", loopback],
    ["ftp://example.com/", noHttps],
    ["file:///etc/passwd", noHttps],
    ["gopher://example.com/", noHttps],
    ["javascript:alert(1)", noHttps],
    ["data:text/plain,x", noHttps],
    ["ws://example.com/", noHttps],
    ["https://example.com:22/", port],
    ["https://example.com:25/", port],
    ["https://example.com:80/", port],
    ["https://example.com:1023/", port],
    ["https://example.com:0/", port],
    ["https://example.com:65536/", noUrl],
    ["https://user@example.com/", user],
    ["https://user:pass@example.com/", user],
    ["https://:pass@example.com/", user],
    ["https://example.com@127.0.0.1/", user],
    ["https://example.com\\@127.0.0.1/", characters],
    ["https:\\\\127.0.0.1\\", characters],
    ["https://exa\tmple.com/", characters],
    ["https://127.0\n.0.1/", characters],
    [" https://example.com/", characters],
    ["https://example.com/a b", characters],
    ["https://example.com/\u0000", characters],
    ["https://example.com/\u00a0", characters],
    ["", noUrl],
    ["example.com", noUrl],
    ["//example.com/", noUrl],
    ["https://", noUrl],
    ["https:///", noUrl],
    ["https://[::1/", noUrl],
    ["https://[fe80::1%25eth0]/", noUrl],
    ["https://[1:2]/", noUrl],
    ["https://256.256.256.256/", noUrl],
    ["https://1.2.3.4.5/", noUrl],
    ["https://exa<mple.com/", noUrl],
    ["https://a..b.example/", "has no valid host"],
    ["https://.example.com/", "has no valid host"],
    ["https://./", "has no valid host"],
    [`https://example.com/${"a".repeat(2048)}`, "is longer than 2048 characters"],
  ])("%j", (url, reason) => {
    expect(verdict(url, STRICT)).toBe(reason);
  });
});

describe("switches", () => {
  test.each([
    "http://127.0.0.1:9000/hook",
    "https://127.0.0.1:9000/hook",
    "http://localhost:9000/hook",
    "http://localhost/hook",
    "http://a.localhost:9000/",
    "http://[::1]:9000/",
    "http://2130706433:9000/",
    "https://example.com/",
  ])("without DATABASE_URL one may send to %s", (url) => {
    expect(verdict(url, EMBEDDED)).toBe("ok");
  });

  test.each([
    "http://example.com/",
    "http://localhost.example.com/",
    "http://10.0.0.1:9000/",
    "https://10.0.0.1/",
    "https://router/",
    "http://0.0.0.0:9000/",
    "http://169.254.169.254/",
    "http://127.0.0.1:22/",
    "http://user@127.0.0.1:9000/",
  ])("without DATABASE_URL one may not send to %s", (url) => {
    expect(verdict(url, EMBEDDED)).not.toBe("ok");
  });

  test.each([
    "http://example.com/",
    "http://receiver:9000/",
    "http://10.0.0.1:9000/",
    "https://vault.internal/",
    "http://127.0.0.1:9000/",
    "http://[fd12::1]:9000/",
  ])("with private addresses allowed, %s is fine", (url) => {
    expect(verdict(url, INSIDE)).toBe("ok");
  });

  test.each([
    "http://169.254.169.254/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://0.0.0.0:9000/",
    "http://224.0.0.1:9000/",
    "ftp://10.0.0.1/",
    "http://10.0.0.1:22/",
    "http://./",
  ])("with private addresses allowed, %s is still refused", (url) => {
    expect(verdict(url, INSIDE)).not.toBe("ok");
  });

  test("the service does not send to itself", () => {
    const policy = { ...STRICT, own_host: "billing.example.com" };
    expect(verdict("https://Billing.example.com:443/v1", policy)).toMatch(/this service itself/);
    expect(verdict("https://billing.example.com:8443/v1", policy)).toBe("ok");
    expect(verdict("https://example.com/", policy)).toBe("ok");
  });

  test("the parsed URL is handed back", () => {
    const check = checkWebhookUrl("https://EXAMPLE.com:443/a", STRICT);
    expect(check.ok && check.url.href).toBe("https://example.com/a");
  });
});
