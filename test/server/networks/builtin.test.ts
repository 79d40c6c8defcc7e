import { assert, describe, it } from "@effect/vitest"
import { builtin } from "../../../src/server/networks/builtin.ts"
import * as chains from "viem/chains"

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
})
