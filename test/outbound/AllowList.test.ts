// The entries of an allow list, and what they allow.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { AllowListFromText, compileAllowList, makeAllowList, parseAddress } from "../../src/outbound/Outbound.ts"
import * as Settings from "../../src/process/settings/Settings.ts"

const decode = Schema.decodeResult(AllowListFromText)

const allows = (list: string, text: string) => {
  const allowed = compileAllowList(Result.getOrThrow(decode(list)))
  const address = parseAddress(text)
  return address === undefined ? allowed.name(text) : allowed.address(address)
}

describe("an allow list", () => {
  const entries = [
    "localhost",
    "LOCALHOST.",
    "vault.internal",
    "vault_1",
    "bücher.example",
    "127.0.0.1",
    "127.0.0.0/8",
    "0.0.0.0/0",
    "10.0.0.1/32",
    "::1",
    "[::1]",
    "::1/128",
    "fd00::/8",
    "::ffff:10.0.0.0/104",
    "64:ff9b::/96"
  ]
  it.each(entries)("accepts hosts, addresses and ranges: %s", (entry) => {
    assert.deepStrictEqual([...Result.getOrThrow(decode(` ${entry} ,, a`))], [entry, "a"])
  })

  const mistakes = [
    "a b",
    "*.internal",
    "*",
    "localhost:8080",
    "http://localhost",
    "user@localhost",
    "localhost/path",
    "a..b",
    "-.%",
    "10.0.0.1/16",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "10.0.0.0/8.0",
    "10.0.0",
    "10.0.0.256",
    "010.0.0.1",
    "0x7f000001",
    "2130706433",
    "fd00::1/8",
    "fd00::/129",
    "fd00::/0x8",
    "64:ff9b::/64",
    "::1::",
    "[::1"
  ]
  it.each(mistakes)("rejects everything else: %s", (entry) =>
    assert.isTrue(Result.isFailure(decode(`localhost,${entry}`)))
  )

  it("allows nothing if it is empty", () => {
    assert.isEmpty(Result.getOrThrow(decode(" , ")))
    assert.isEmpty([...makeAllowList([])])
    assert.isFalse(allows("", "127.0.0.1"))
    assert.isFalse(allows("", "localhost"))
  })

  it("cannot be made from an invalid entry", () => {
    assert.deepStrictEqual([...makeAllowList(["localhost", "::1"])], ["localhost", "::1"])
    assert.throws(() => makeAllowList(["localhost", "*"]))
  })

  const cases = [
    ["127.0.0.0/8", "127.0.0.1", true],
    ["127.0.0.0/8", "128.0.0.0", false],
    ["127.0.0.0/8", "::ffff:127.0.0.1", true],
    ["127.0.0.0/8", "::ffff:7f00:1", true],
    ["127.0.0.0/8", "64:ff9b::7f00:1", true],
    ["127.0.0.0/8", "::1", false],
    ["127.0.0.0/8", "::127.0.0.1", false],
    ["127.0.0.0/8", "2002:7f00:1::", false],
    ["127.0.0.0/8", "localhost", false],
    ["::ffff:127.0.0.0/104", "127.0.0.1", true],
    ["::ffff:127.0.0.0/104", "126.255.255.255", false],
    ["10.1.0.0/16", "10.0.255.255", false],
    ["10.1.0.0/16", "10.1.0.0", true],
    ["10.1.0.0/16", "10.1.255.255", true],
    ["10.1.0.0/16", "10.2.0.0", false],
    ["10.1.0.0", "10.1.0.0", true],
    ["10.1.0.0", "10.1.0.1", false],
    ["fd00::/8", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true],
    ["fd00::/8", "fc00::", false],
    ["::1", "[::1]", true],
    ["2002:7f00:1::/48", "2002:7f00:1::1", true],
    ["Vault.Internal.", "vault.internal", true],
    ["vault.internal", "a.vault.internal", false],
    ["vault.internal", "internal", false],
    ["bücher.example", "xn--bcher-kva.example", true]
  ] as const
  it.each(cases)("%s allows %s: %s", (list, text, expected) => assert.strictEqual(allows(list, text), expected))

  it.effect("is a setting, and an error names the invalid entry", () =>
    Effect.gen(function* () {
      const set = yield* Settings.decode({ OUTBOUND_ALLOW: "localhost, 10.1.0.0/16" })
      assert.deepStrictEqual([...(set.OUTBOUND_ALLOW ?? [])], ["localhost", "10.1.0.0/16"])
      assert.isUndefined((yield* Settings.decode({})).OUTBOUND_ALLOW)
      const error = yield* Effect.flip(Settings.decode({ OUTBOUND_ALLOW: "localhost,10.1.2.3/16" }))
      assert.include(
        error.message,
        '  OUTBOUND_ALLOW: entry 2, "10.1.2.3/16", is not a host name, an IP address, or a range'
      )
    })
  )
})
