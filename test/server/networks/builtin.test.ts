import { assert, describe, it } from "@effect/vitest"
import { builtin, entries, largestBatch } from "../../../src/server/networks/builtin.ts"
import * as chains from "viem/chains"
import { readFileSync } from "node:fs"

describe("the built-in networks", () => {
  it("have an id each", () => {
    assert.strictEqual(new Set(builtin.map(({ id }) => id)).size, builtin.length)
  })

  it("have the chain ids and symbols that viem knows", () => {
    const known = new Map(Object.values(chains).map((chain) => [chain.id as number, chain]))
    for (const network of builtin) {
      if (network.network_type !== "evm") continue
      const chain = known.get(network.chain_id)
      assert.isDefined(chain, network.id)
      if (network.name === "localhost-anvil") continue
      assert.strictEqual(chain?.testnet ?? false, network.is_testnet, network.id)
      assert.strictEqual(chain?.nativeCurrency.symbol.replace("S-CELO", "CELO"), network.symbol, network.id)
    }
  })

  it("say where their block time, features and confirmations were read, and when", () => {
    for (const { network, read } of entries) {
      assert.match(read.date, /^2\d{3}-\d{2}-\d{2}$/u, network.id)
      assert.isAbove(read.text.length, 20, network.id)
    }
  })

  it("have no number whose source is only a comment", () => {
    const [, ...lines] = readFileSync("src/server/networks/builtin.ts", "utf8").split("export const entries")
    const [list = ""] = lines.join("").split("\n]\n")
    assert.include(list, "mainnet-beta")
    assert.notInclude(list.replaceAll("://", ""), "//")
  })

  it("say of a network with another block time than others of its type where this one was read", () => {
    const times = Map.groupBy(entries, ({ network }) => network.network_type)
    for (const type of ["solana", "stellar"] as const) {
      const found = times.get(type) ?? []
      const usual = found.map(({ network }) => network.average_blocktime_ms).toSorted((one, other) => other - one)[0]
      for (const { network, read } of found) {
        if (network.average_blocktime_ms !== usual) assert.match(read.text, /^block time: /u, network.id)
      }
    }
  })

  it("say for each URL how large a batch it takes, where that was read, and when", () => {
    for (const { network, rpc } of entries) {
      assert.deepStrictEqual(
        rpc.map(({ url }) => url),
        network.rpc_urls.map(({ url }) => url)
      )
      for (const { batch, source, url } of rpc) {
        assert.isTrue(batch === "unknown" || batch >= 1, url)
        assert.match(source.date, /^2\d{3}-\d{2}-\d{2}$/u, url)
        assert.isAbove(source.text.length, 20, url)
      }
    }
  })

  it("keep two URLs if they had two, also if one of them takes small batches only", () => {
    const two = new Set(["mainnet", "sepolia", "polygon", "polygon-amoy", "binance-smart-chain"])
    for (const { name, network_type, rpc_urls } of builtin) {
      if (network_type === "evm" && two.has(name)) assert.isAtLeast(rpc_urls.length, 2, name)
    }
  })

  it("tell the calls of a URL how large a batch it takes", () => {
    assert.strictEqual(largestBatch("https://eth.drpc.org"), 3)
    assert.isUndefined(largestBatch("https://api.devnet.solana.com"))
    assert.isUndefined(largestBatch("https://rpc.example.com"))
  })
})
