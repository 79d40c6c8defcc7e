// Which hosts the console serves, what its cookies are named, and which requests come from its own pages.
import { assert, describe, it } from "@effect/vitest"
import { cookieValues, isSameOrigin, siteOfHost } from "../../../src/server/console/Gate.ts"

const secure = "https://relayers.example.com"
const origins = [secure, "https://other.example.com:8443", "http://10.0.0.5:8080"]

const originOf = (host: string | undefined) => siteOfHost(host, origins)?.origin

const named = (host: string) => siteOfHost(host, origins) ?? assert.fail(`${host} is not served`)

describe("the site of a request", () => {
  it("is a loopback address with any port", () => {
    for (const host of ["127.0.0.1:8080", "localhost:1", "localhost", "[::1]:8080", "127.9.9.9", "a.localhost:5"]) {
      assert.strictEqual(originOf(host), `http://${host}`)
    }
  })

  it("is an origin of the configuration with its own port", () => {
    assert.strictEqual(originOf("relayers.example.com"), secure)
    assert.strictEqual(originOf("RELAYERS.example.com:443"), secure)
    assert.strictEqual(originOf("relayers.example.com."), secure)
    assert.strictEqual(originOf("other.example.com:8443"), "https://other.example.com:8443")
    assert.strictEqual(originOf("10.0.0.5:8080"), "http://10.0.0.5:8080")
  })

  it("is none for every other host", () => {
    const others = [
      "evil.example",
      "relayers.example.com:80",
      "relayers.example.com.evil.example",
      "relayers.example.com:8443",
      "other.example.com",
      "10.0.0.5",
      "10.0.0.5:81",
      "127.0.0.1.evil.example",
      "localhost.evil.example",
      "user@localhost",
      "localhost/x",
      "local host",
      "",
      undefined
    ]
    for (const host of others) assert.isUndefined(originOf(host), host)
  })

  it("has a cookie that differs by port or, behind TLS, by origin", () => {
    assert.deepStrictEqual(named("127.0.0.1:8080").cookie, {
      name: "relayer-console-8080",
      attributes: "Path=/console; HttpOnly; SameSite=Strict"
    })
    assert.strictEqual(named("localhost").cookie.name, "relayer-console-80")
    const { name, attributes } = named("relayers.example.com").cookie
    assert.match(name, /^__Host-relayer-console-[0-9a-f]{8}$/)
    assert.strictEqual(attributes, "Path=/; Secure; HttpOnly; SameSite=Strict")
    assert.notStrictEqual(name, named("other.example.com:8443").cookie.name)
  })
})

describe("a request of the own page", () => {
  const site = named("127.0.0.1:8080")

  it("is known by Sec-Fetch-Site, whatever Origin says", () => {
    assert.isTrue(isSameOrigin({ "sec-fetch-site": "same-origin" }, site))
    for (const other of ["same-site", "cross-site", "none", ""]) {
      assert.isFalse(isSameOrigin({ "sec-fetch-site": other, origin: site.origin }, site))
    }
  })

  it("is known by Origin where there is no Sec-Fetch-Site, and never without both", () => {
    assert.isTrue(isSameOrigin({ origin: "http://127.0.0.1:8080" }, site))
    for (const origin of [
      "http://127.0.0.1:8081",
      "https://127.0.0.1:8080",
      "http://localhost:8080",
      "null",
      undefined
    ]) {
      assert.isFalse(isSameOrigin({ origin }, site))
    }
  })
})

describe("the cookies of a request", () => {
  it("are all values of the name", () => {
    assert.deepStrictEqual(cookieValues("a=1; relayer-console-1=x; b=2;relayer-console-1=y=z", "relayer-console-1"), [
      "x",
      "y=z"
    ])
    assert.deepStrictEqual(cookieValues("xrelayer-console-1=x", "relayer-console-1"), [])
    assert.deepStrictEqual(cookieValues(undefined, "relayer-console-1"), [])
  })
})
