// What a network decides about its transactions.
import { Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { EvmNetwork } from "../../../../src/domain/network/Network.ts"
import { networkNumbers, pollInterval, windowLimitOf } from "../../../../src/networks/evm/rules/EvmNumbers.ts"

const network = (over: Partial<typeof EvmNetwork.Encoded> = {}) =>
  Schema.decodeSync(EvmNetwork)({
    id: "evm:one",
    name: "one",
    source: "own",
    rpc_urls: [],
    average_blocktime_ms: 2000,
    is_testnet: false,
    network_type: "evm",
    chain_id: 1,
    required_confirmations: 12,
    features: ["eip1559"],
    symbol: "ETH",
    ...over
  })

describe("the numbers of a network", () => {
  it("come from its fields and features", () => {
    assert.deepStrictEqual(networkNumbers(network()), {
      chainId: 1,
      blockTime: 2000,
      finality: 12,
      finalityByOne: 3_600_000,
      window: 64,
      minimumTip: 0n,
      hasMempool: true,
      isEip1559: true,
      isTestnet: false,
      hasDataFeeOracle: false,
      hasAuthorizations: false
    })
    const marked = networkNumbers(network({ features: ["eip7825"], tags: ["no-mempool"], chain_id: 137 }))
    assert.strictEqual(marked.transactionGasCap, 16_777_216n)
    assert.deepStrictEqual([marked.hasMempool, marked.window, marked.isEip1559], [false, 4, false])
    assert.strictEqual(marked.minimumTip, 30_000_000_000n)
  })

  it("allow an account with a delegation one transaction in flight, and one with other code the whole window", () => {
    const numbers = networkNumbers(network())
    const delegated = `0xEF0100${"ab".repeat(20)}`
    assert.deepStrictEqual(
      ["0x", "0x6080", delegated].map((code) => windowLimitOf(numbers, code)),
      [64, 64, 1]
    )
  })

  it("are those that the operator has set", () => {
    const set = { transaction_window: 1000, finality_tag: "finalized", minimum_priority_fee: 7 } as const
    const numbers = networkNumbers(network({ chain_id: 137, ...set }))
    assert.deepStrictEqual([numbers.window, numbers.finality, numbers.minimumTip], [1000, "finalized", 7n])
  })

  it.each([
    [250, 1000],
    [2000, 2000],
    [60_000, 12_000]
  ])("a block time of %d ms means a poll every %d ms", (blockTime, interval) => {
    assert.strictEqual(pollInterval({ blockTime }), interval)
  })
})
