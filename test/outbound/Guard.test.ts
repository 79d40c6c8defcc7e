// The refusals of URLs before their names are resolved, and of the addresses that names resolve to.
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AllowListFromText, describeRefusal, makeGuard } from "../../src/outbound/Outbound.ts"
import type { Refusal } from "../../src/outbound/Outbound.ts"

const guard = (allow: string) => {
  const { url, addresses } = makeGuard(Schema.decodeSync(AllowListFromText)(allow))
  const words = (refusal: Refusal | undefined) => (refusal === undefined ? undefined : describeRefusal(refusal))
  return {
    url: (text: string, httpsOnly?: boolean) => words(url(text, httpsOnly)),
    addresses: (name: string, found: ReadonlyArray<string>) => words(addresses(name, found))
  }
}
const strict = guard("")

const urls: Record<string, ReadonlyArray<string>> = {
  "is not an http or https URL": [
    "",
    "/path",
    "localhost",
    "ftp://host.example",
    "file:///etc/passwd",
    "gopher://127.0.0.1",
    "data:,x",
    "ws://host.example",
    "http://",
    "http://[fe80::1%25eth0]",
    "http://1.2.3.256",
    "http://host.123"
  ],
  "does not have a valid host name": ["http://a..b", "http://a*b.example", "http://!"],
  "points to a loopback address": [
    "http://127.0.0.1",
    "https://127.0.0.1:8443/path?query#hash",
    "http://user:password@127.0.0.1",
    "HTTP://127.0.0.1",
    "http:127.0.0.1",
    "http:\\\\127.0.0.1",
    "http://127.1",
    "http://127.0.1",
    "http://2130706433",
    "http://0x7f000001",
    "http://0x7F.1",
    "http://017700000001",
    "http://0177.0.0.01",
    "http://127.0.0.1.",
    "http://%31%32%37.0.0.1",
    "http://１２７.０.０.１",
    "http://127。0。0。1",
    "http://①②⑦.0.0.1",
    "http://12\t7.0.0.1",
    "http://[::1]",
    "http://[0:0:0:0:0:0:0:1]:80",
    "http://[::ffff:127.0.0.1]",
    "http://[::FFFF:7F00:1]",
    "http://[64:ff9b::127.0.0.1]"
  ],
  "points to a loopback host": [
    "http://localhost",
    "http://LOCALHOST:8080",
    "http://localhost.",
    "http://localhost..",
    "http://localhost。",
    "http://a.localhost",
    "http://a.b.localhost.",
    "http://ｌocalhost",
    "http://%6cocalhost",
    "http://localhost.localdomain"
  ],
  "points to a private address": ["http://10.0.0.1", "http://192.168.1.1", "http://[fd00::1]", "http://[::ffff:a00:1]"],
  "points to a private host": [
    "http://printer.local",
    "http://printer.LOCAL.",
    "http://vault.internal",
    "http://a.b.internal.",
    "http://nas.home.arpa",
    "http://internal"
  ],
  "points to a cloud metadata address": [
    "http://169.254.169.254/latest/meta-data",
    "http://2852039166",
    "http://[fd00:ec2::254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://100.100.100.200"
  ],
  "points to a cloud metadata host": [
    "http://metadata.google.internal",
    "http://METADATA.google.internal./computeMetadata/v1",
    "http://metadata",
    "http://instance-data"
  ],
  "points to a link-local address": ["http://169.254.1.1", "http://[fe80::1]"],
  "points to an unspecified address": ["http://0", "http://0.0.0.0", "http://[::]"],
  "points to a shared address": ["http://100.64.0.1"],
  "points to a multicast address": ["http://224.0.0.1", "http://[ff02::1]"],
  "points to a broadcast address": ["http://255.255.255.255", "http://4294967295"],
  "points to a reserved address": ["http://192.0.2.1", "http://[2001:db8::1]", "http://[2002:7f00:1::]", "http://[::2]"]
}

const fine = [
  "https://host.example",
  "http://host.example.:8080/path",
  "https://user:password@host.example",
  "https://8.8.8.8",
  "https://[2606:4700::1111]",
  "https://[64:ff9b::808:808]",
  "https://localhost.example",
  "https://mylocalhost",
  "https://notlocal",
  "https://internal.example",
  "https://metadata.example",
  "https://_dmarc.host-1.example",
  "https://bücher.example",
  "https://127.0.0.1.example"
]

describe("the guard", () => {
  for (const [text, refused] of Object.entries(urls)) {
    it.each(refused)(`${text}: %s`, (url) => {
      const isInternal = text.startsWith("points")
      assert.strictEqual(strict.url(url), isInternal ? `${text}, which is not allowed` : text)
    })
  }

  it.each(fine)("accepts %s", (url) => assert.isUndefined(strict.url(url)))

  const allowed = [
    ["localhost", "http://LOCALHOST.:8080/path"],
    ["127.0.0.0/8", "http://2130706433"],
    ["127.0.0.0/8", "http://[::ffff:127.0.0.1]"],
    ["::1", "http://[0::1]"],
    ["vault.internal", "https://Vault.Internal"],
    ["169.254.169.254", "http://169.254.169.254"],
    ["metadata.google.internal", "http://metadata.google.internal"]
  ] as const
  it.each(allowed)("that allows %s accepts %s", (allow, url) => assert.isUndefined(guard(allow).url(url)))

  const notAllowed = [
    ["localhost", "http://127.0.0.1"],
    ["localhost", "http://a.localhost"],
    ["127.0.0.0/8,::1", "http://localhost"],
    ["127.0.0.1", "http://127.0.0.2"],
    ["127.0.0.0/8", "http://[::1]"],
    ["127.0.0.0/8", "ftp://127.0.0.1"],
    ["vault.internal", "http://other.internal"]
  ] as const
  it.each(notAllowed)("that allows %s refuses %s", (allow, url) => assert.isDefined(guard(allow).url(url)))

  const byHttp = [
    ["relay-api", "http://relay-api:8080/x", undefined],
    ["relay-api", "http://Relay-API./x", undefined],
    ["10.1.0.0/16", "http://10.1.2.3/x", undefined],
    ["", "https://hooks.example/x", undefined],
    ["10.1.0.0/16", "http://relay-api:8080/x", "the URL has http instead of https, which is not allowed"],
    ["relay-api", "http://hooks.example/x", "the URL has http instead of https, which is not allowed"],
    ["", "http://8.8.8.8/x", "the URL has http instead of https, which is not allowed"],
    ["", "http://127.0.0.1/x", "points to a loopback address, which is not allowed"]
  ] as const
  it.each(byHttp)("that allows [%s] and expects https, of %s: %s", (allow, url, expected) => {
    assert.strictEqual(guard(allow).url(url, true), expected)
  })

  it("names the setting of the service for a URL by http", () => {
    assert.strictEqual(
      describeRefusal({ _tag: "NotHttps" }, ": add its host to OUTBOUND_ALLOW to allow it"),
      "the URL has http instead of https: add its host to OUTBOUND_ALLOW to allow it"
    )
  })

  const resolved = [
    ["", ["8.8.8.8", "2606:4700::1111"], undefined],
    ["", ["127.0.0.1"], "resolves to a loopback address, which is not allowed"],
    ["", ["8.8.8.8", "10.0.0.1"], "resolves to a private address, which is not allowed"],
    ["", ["10.0.0.1", "8.8.8.8"], "resolves to a private address, which is not allowed"],
    ["", ["fe80::1%eth0"], "resolves to a link-local address, which is not allowed"],
    ["", ["::ffff:169.254.169.254"], "resolves to a cloud metadata address, which is not allowed"],
    ["", ["nonsense"], "resolves to a reserved address, which is not allowed"],
    ["127.0.0.0/8", ["127.0.0.1", "::ffff:127.0.0.2"], undefined],
    ["127.0.0.0/8", ["127.0.0.1", "::1"], "resolves to a loopback address, which is not allowed"],
    ["hook.example", ["127.0.0.1", "10.0.0.1"], undefined],
    ["other.example", ["127.0.0.1"], "resolves to a loopback address, which is not allowed"]
  ] as const
  it.each(resolved)("that allows [%s], for a name with the addresses %s: %s", (allow, addresses, expected) => {
    for (const name of ["hook.example", "Hook.Example."]) {
      assert.strictEqual(guard(allow).addresses(name, addresses), expected)
    }
  })
})
