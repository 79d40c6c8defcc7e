// Units of amounts, and links to explorers, which come from the configuration of networks.
import { assert, describe, it } from "@effect/vitest"
import { explorerLink, isSecretHash, unitOf } from "../../web/src/data/Chains.ts"

const hash = "0xab"

const linkOf = (url: string, is_testnet = false) => explorerLink({ explorer_urls: [url], is_testnet }, hash)

describe("links to explorers", () => {
  it("keep the explorer's path and query", () => {
    assert.strictEqual(
      linkOf("https://scan.example/main/?cluster=dev"),
      "https://scan.example/main/tx/0xab?cluster=dev"
    )
  })

  it("are no links unless the explorer is on the web with TLS, or on a test network without", () => {
    for (const url of ["javascript:alert(1)", "data:text/html,x", "no url", "http://scan.example"]) {
      assert.isUndefined(linkOf(url), url)
    }
    assert.strictEqual(linkOf("http://scan.example", true), "http://scan.example/tx/0xab")
    assert.isUndefined(explorerLink(undefined, hash))
  })

  it("show no explorer a hash that only private providers know", () => {
    assert.isTrue(isSecretHash({ route: "private" }))
    assert.isTrue(isSecretHash({ route: "private", kind: "bump" }))
    assert.isFalse(isSecretHash({ route: "private", block_number: 7 }))
    assert.isFalse(isSecretHash({ route: "private", kind: "noop" }))
    for (const route of ["public", "fell_back"]) assert.isFalse(isSecretHash({ route }))
    assert.isFalse(isSecretHash({}))
  })
})

describe("units", () => {
  const networks = [{ name: "polygon", network_type: "evm", symbol: "POL" }] as const

  it("are those of the chain, with the symbol of the network", () => {
    assert.deepStrictEqual(unitOf("evm", "polygon", networks), { symbol: "POL", decimals: 18, smallest: "wei" })
    assert.strictEqual(unitOf("solana", "mainnet-beta", undefined).symbol, "SOL")
    assert.strictEqual(unitOf("stellar", "mainnet", undefined).decimals, 7)
  })

  it("are the smallest unit while the network is not known", () => {
    assert.deepStrictEqual(unitOf("evm", "polygon", undefined), { symbol: "wei", decimals: 0, smallest: "wei" })
  })
})
