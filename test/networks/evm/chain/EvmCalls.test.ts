// What results of nodes mean.
import { Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { balanceOf, feeHistory, receiptIn, receiptOf } from "../../../../src/networks/evm/chain/EvmCalls.ts"

const receiptWith = (fields: object) =>
  receiptIn(
    Schema.decodeUnknownSync(receiptOf("0x").result)({
      blockNumber: "0x1",
      blockHash: "0xaa",
      gasUsed: "0x5208",
      contractAddress: `0x${"AB".repeat(20)}`,
      ...fields
    })
  )

describe("a receipt", () => {
  it("has the address of a contract only if the creation succeeded", () => {
    const addresses = ["0x1", "0x0"].map((status) => receiptWith({ status })?.details.contractAddress)
    assert.deepStrictEqual(addresses, [`0x${"ab".repeat(20)}`, undefined])
  })

  it("of a block before the status was introduced has the address", () => {
    assert.isDefined(receiptWith({})?.details.contractAddress)
  })
})

describe("numbers of 256 bits", () => {
  const most = 2n ** 256n - 1n
  const hex = `0x${most.toString(16)}`

  it("are read as balances and as fees", () => {
    assert.strictEqual(Schema.decodeUnknownSync(balanceOf("0x").result)(hex), most)
    const answer = { oldestBlock: "0x1", baseFeePerGas: ["0x1", hex], gasUsedRatio: [0.5], reward: [[hex]] }
    assert.deepStrictEqual(Schema.decodeUnknownSync(feeHistory("latest").result)(answer), {
      oldestBlock: 1,
      baseFeePerGas: [1n, most],
      gasUsedRatio: [0.5],
      reward: [[most]]
    })
    assert.strictEqual(receiptWith({ effectiveGasPrice: hex })?.details.effectiveGasPrice, most)
  })
})
