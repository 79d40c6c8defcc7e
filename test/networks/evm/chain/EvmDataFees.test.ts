// The call that asks a rollup what data costs, compared with viem's encoding.
import { Effect } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { decodeFunctionData, encodeFunctionData, parseAbi, parseTransaction } from "viem"
import { dataFeeInput, oracleCall, readDataFee } from "../../../../src/networks/evm/chain/EvmMarkets.ts"
import type { NetworkNumbers } from "../../../../src/networks/evm/rules/EvmNumbers.ts"
import type { RpcAnswer, RpcCall } from "../../../../src/server/chains/RpcBatch.ts"
import * as Chain from "../../../server/lanes/fake/Chain.ts"
import * as Node from "../../../server/lanes/fake/Node.ts"
import { network } from "../rules/simulation/World.ts"

const abi = parseAbi(["function getL1Fee(bytes data) view returns (uint256)"])
const to = `0x${"ab".repeat(20)}` as const
const call = { to, value: 5n, data: "0xa9059cbb" }
const rollup: NetworkNumbers = { ...network, hasDataFeeOracle: true }

const nodeWith = (answer: RpcAnswer) => {
  const node = Node.make(Chain.make(), "http://node.example")
  node.lies.set("eth_call", () => answer)
  return node
}

const sevenWei: RpcAnswer = { _tag: "Result", value: `0x${"7".padStart(64, "0")}` }

const dataOf = (call: RpcCall) => (Node.paramsOf(call)[0] as { readonly data: `0x${string}` }).data

describe("EvmDataFees", () => {
  it.each(["", "0102", "ab".repeat(32), "cd".repeat(33)])("encodes the argument %s as the ABI demands", (bytes) => {
    const expected = encodeFunctionData({ abi, functionName: "getL1Fee", args: [`0x${bytes}`] })
    assert.strictEqual(dataOf(oracleCall(dataFeeInput(bytes))), expected)
  })

  it.effect("asks with the unsigned bytes of the transaction, and doubles the answer", () =>
    Effect.gen(function* () {
      const node = nodeWith(sevenWei)
      assert.strictEqual(yield* readDataFee(node.node, rollup, call), 14n)
      const [asked] = node.seen
      const { args } = decodeFunctionData({ abi, data: asked === undefined ? "0x" : dataOf(asked) })
      const parsed = parseTransaction(args[0])
      assert.deepStrictEqual([parsed.to, parsed.value, parsed.data], [to, 5n, "0xa9059cbb"])
    })
  )

  it.effect("doubles what the newest receipt names if the chain has no such contract", () =>
    Effect.gen(function* () {
      const without: ReadonlyArray<RpcAnswer> = [
        { _tag: "Result", value: "0x" },
        { _tag: "RpcError", code: 3, message: "execution reverted" }
      ]
      for (const answer of without) {
        const { node } = nodeWith(answer)
        assert.strictEqual(yield* readDataFee(node, rollup, call, 5n), 10n)
        assert.isUndefined(yield* readDataFee(node, rollup, call))
      }
    })
  )

  it.effect("asks nothing on other chains", () =>
    Effect.gen(function* () {
      const node = nodeWith(sevenWei)
      assert.isUndefined(yield* readDataFee(node.node, network, call))
      assert.lengthOf(node.seen, 0)
    })
  )
})
