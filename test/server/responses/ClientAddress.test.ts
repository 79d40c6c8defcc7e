// The client's address behind proxies.
import { assert, it } from "@effect/vitest"
import { Option } from "effect"
import { HttpServerRequest } from "effect/http"
import { addressReader, makeTrustedProxies } from "../../../src/server/responses/CurrentRequest.ts"

const request = (sender: string | undefined, forwarded?: string) =>
  HttpServerRequest.fromWeb(
    new Request("http://relayer.example/", {
      headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded }
    })
  ).modify({ remoteAddress: Option.fromUndefinedOr(sender) })

const proxies = ["10.0.0.0/8", "192.0.2.7", "fd00::/8"]

const cases: ReadonlyArray<{
  readonly name: string
  readonly trusted?: ReadonlyArray<string>
  readonly sender: string | undefined
  readonly forwarded?: string
  readonly client: string | undefined
}> = [
  {
    name: "the sender without trusted proxies",
    trusted: [],
    sender: "10.0.0.1",
    forwarded: "1.2.3.4",
    client: "10.0.0.1"
  },
  { name: "a sender that is no trusted proxy", sender: "198.51.100.1", forwarded: "1.2.3.4", client: "198.51.100.1" },
  { name: "the address that a trusted proxy names", sender: "10.0.0.1", forwarded: "1.2.3.4", client: "1.2.3.4" },
  { name: "the rightmost address", sender: "10.0.0.1", forwarded: "9.9.9.9, 1.2.3.4", client: "1.2.3.4" },
  {
    name: "the address before a chain of proxies",
    sender: "10.0.0.1",
    forwarded: "9.9.9.9,1.2.3.4,fd00::1,192.0.2.7",
    client: "1.2.3.4"
  },
  {
    name: "the first address if all are proxies",
    sender: "10.0.0.1",
    forwarded: "10.0.0.3, 10.0.0.2",
    client: "10.0.0.3"
  },
  {
    name: "the proxy that adds what is no address",
    sender: "10.0.0.1",
    forwarded: "1.2.3.4, unknown, 10.0.0.2",
    client: "10.0.0.2"
  },
  { name: "the proxy without the header", sender: "10.0.0.1", client: "10.0.0.1" },
  { name: "an address with a port", sender: "10.0.0.1", forwarded: "1.2.3.4:4711", client: "1.2.3.4" },
  { name: "an IPv6 address with a port", sender: "10.0.0.1", forwarded: "[2001:DB8::1]:4711", client: "2001:db8::1" },
  { name: "a proxy of an IPv6 listener", sender: "::ffff:10.0.0.1", forwarded: "::ffff:1.2.3.4", client: "1.2.3.4" },
  { name: "an IPv4 sender of an IPv6 listener", trusted: [], sender: "::ffff:1.2.3.4", client: "1.2.3.4" },
  { name: "nothing of a Unix socket", sender: undefined, forwarded: "1.2.3.4", client: undefined }
]

for (const { name, trusted = proxies, sender, forwarded, client } of cases) {
  it(`the client is ${name}`, () => {
    const read = addressReader(makeTrustedProxies(trusted))
    assert.strictEqual(read(request(sender, forwarded)), client)
  })
}

it("an invalid range is refused", () => {
  for (const entry of ["proxy.internal", "10.0.0.1/8", "10.0.0.0/33", "", "::/129"]) {
    assert.throws(() => makeTrustedProxies(["10.0.0.0/8", entry]))
  }
})
