// How a node is asked what the operator of a rollup charges, and what its receipts say that it charged.
import { Effect, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { encodeFunctionData, parseAbi } from "viem"
import { receiptIn, receiptOf } from "../../../../src/networks/evm/chain/EvmCalls.ts"
import { make, operatorFeeInput, oracleCall, readOperatorFee } from "../../../../src/networks/evm/chain/EvmMarkets.ts"
import type { NetworkNumbers } from "../../../../src/networks/evm/rules/EvmNumbers.ts"
import type { RpcAnswer } from "../../../../src/server/chains/RpcBatch.ts"
import * as Chain from "../../../server/lanes/fake/Chain.ts"
import * as Node from "../../../server/lanes/fake/Node.ts"
import { network } from "../rules/simulation/World.ts"

const abi = parseAbi(["function getOperatorFee(uint256 gasUsed) view returns (uint256)"])
const rollup: NetworkNumbers = { ...network, hasDataFeeOracle: true }

const wei = (amount: bigint): RpcAnswer => ({ _tag: "Result", value: `0x${amount.toString(16).padStart(64, "0")}` })

const inputOf = (gas: bigint) => `0x${operatorFeeInput(gas)}`

/** A node whose contract gives one answer for no gas, and another for a million gas. */
const nodeWith = (forNone: RpcAnswer, forMillion: RpcAnswer) => {
  const node = Node.make(Chain.make(), "http://node.example")
  node.lies.set("eth_call", ([call]) =>
    (call as { readonly data: string }).data === inputOf(0n) ? forNone : forMillion
  )
  return node
}

const receiptWith = (fields: object) =>
  receiptIn(
    Schema.decodeSync(receiptOf("0x").result)({
      blockNumber: "0x1",
      blockHash: "0xab",
      status: "0x1",
      gasUsed: "0x5208",
      effectiveGasPrice: "0x1",
      ...fields
    })
  )

const head = { number: 1, hash: "0x01" }

/** The node is the only one that is configured. */
const alone = { second: () => Effect.succeed("not_configured" as const) }

describe("EvmOperatorFees", () => {
  it("encodes the call as the ABI demands", () => {
    const data = encodeFunctionData({ abi, functionName: "getOperatorFee", args: [1_000_000n] })
    assert.deepStrictEqual(oracleCall(operatorFeeInput(1_000_000n)).params, [
      { to: "0x420000000000000000000000000000000000000f", data },
      "latest"
    ])
  })

  it.effect("is part of the market of a rollup, and is asked once per block", () =>
    Effect.gen(function* () {
      const { node, seen } = nodeWith(wei(7n), wei(1507n))
      const markets = make()
      const ask = Effect.map(markets.at({ node, head, providers: alone }, rollup), ({ operatorFee }) => operatorFee)
      assert.deepStrictEqual(yield* ask, { constant: 7n, perMillionGas: 1500n })
      yield* ask
      assert.lengthOf(
        seen.filter(({ method }) => method === "eth_call"),
        2
      )
    })
  )

  it.effect("is absent before Isthmus, and if the node answers nonsense", () =>
    Effect.gen(function* () {
      const huge: RpcAnswer = { _tag: "Result", value: `0x${"f".repeat(64)}` }
      const wrong: ReadonlyArray<RpcAnswer> = [
        { _tag: "RpcError", code: 3, message: "execution reverted" },
        { _tag: "Result", value: "0x" },
        { _tag: "Result", value: null },
        { _tag: "Result", value: 7 },
        huge
      ]
      for (const answer of wrong) {
        assert.isUndefined(yield* readOperatorFee(nodeWith(answer, answer).node, rollup))
        assert.isUndefined(yield* readOperatorFee(nodeWith(wei(7n), answer).node, rollup))
      }
      assert.isUndefined(yield* readOperatorFee(nodeWith(wei(8n), wei(7n)).node, rollup))
      assert.hasAllKeys(yield* make().at({ node: nodeWith(huge, huge).node, head }, rollup), [
        "baseFee",
        "enough",
        "tips"
      ])
    })
  )

  it.effect("is not asked on other chains", () =>
    Effect.gen(function* () {
      const { node, seen } = nodeWith(wei(7n), wei(1507n))
      assert.isUndefined(yield* readOperatorFee(node, network))
      assert.lengthOf(seen, 0)
    })
  )

  it("of a receipt is that of its gas, by the formula of the upgrade that its fields show", () => {
    const parameters = { operatorFeeScalar: "0x5dc", operatorFeeConstant: "0x7" }
    assert.strictEqual(receiptWith(parameters)?.details.operatorFee, 31n + 7n)
    assert.strictEqual(
      receiptWith({ ...parameters, daFootprintGasScalar: "0x190" })?.details.operatorFee,
      3_150_000_007n
    )
    assert.strictEqual(receiptWith({ operatorFeeConstant: "0x7" })?.details.operatorFee, 7n)
  })

  it("of a receipt is absent if the fields are absent, zero or nonsense, which does not hide the receipt", () => {
    const fields = [
      {},
      { operatorFeeScalar: null, operatorFeeConstant: null },
      { operatorFeeScalar: "0x0", operatorFeeConstant: "0x0" },
      { operatorFeeScalar: "many", operatorFeeConstant: 7, l1Fee: "0.684", daFootprintGasScalar: {} },
      { operatorFeeScalar: `0x${"f".repeat(32)}` }
    ]
    for (const each of fields) {
      const receipt = receiptWith(each)
      assert.deepStrictEqual(
        [receipt?.details.gasUsed, receipt?.details.operatorFee, receipt?.details.dataFee],
        [21_000n, undefined, undefined]
      )
    }
  })
})
