// Reasons of reverts, as nodes report them.
import { assert, describe, it } from "@effect/vitest"
import { failsIn, isOutOfGas, isRevert, revertReasonOf } from "../../../../src/networks/evm/chain/EvmCalls.ts"

const text = Buffer.from("paused").toString("hex").padEnd(64, "0")
const solidity = `0x08c379a0${"20".padStart(64, "0")}${"6".padStart(64, "0")}${text}`
const panic = `0x4e487b71${"11".padStart(64, "0")}`

const error = (message: string, data?: unknown, code = 3) => ({ _tag: "RpcError" as const, code, message, data })

describe("RevertReason", () => {
  it("is decoded from data, beside the message or one level deeper", () => {
    assert.strictEqual(revertReasonOf(error("execution reverted", solidity)), "paused")
    assert.strictEqual(revertReasonOf(error("execution reverted", { data: solidity })), "paused")
    assert.strictEqual(revertReasonOf(error("execution reverted", panic)), "panic 0x11")
    assert.strictEqual(revertReasonOf(error("execution reverted", "0xdeadbeef")), "0xdeadbeef")
  })

  it("is taken from the message if there is no data", () => {
    assert.strictEqual(revertReasonOf(error("execution reverted: paused")), "paused")
    assert.strictEqual(
      revertReasonOf(error("VM Exception while processing transaction: reverted with reason string 'paused'")),
      "paused"
    )
    assert.isUndefined(revertReasonOf(error("execution reverted")))
  })

  it.each([
    ["geth, coreth, Kaia", true, "out of gas", -32000],
    ["anvil", true, "EVM error OutOfGas", -32603],
    ["Hardhat", true, "Transaction ran out of gas", -32000],
    ["Ganache", true, "VM Exception while processing transaction: out of gas", -32000],
    ["geth, coreth, Cosmos EVM", false, "invalid opcode: INVALID", -32000],
    ["anvil", false, "EVM error InvalidFEOpcode", -32603],
    ["Hardhat", false, "VM Exception while processing transaction: invalid opcode", 3],
    ["Ganache", false, "VM Exception while processing transaction: invalid opcode", -32000],
    ["Kaia", false, "VM error occurs while running smart contract", -32000],
    ["geth", false, "execution reverted", 3],
    ["geth", undefined, "header not found", -32000]
  ] as const)("of %s says whether the gas ran out (%s): %s", (_, expected, message, code) => {
    assert.strictEqual(isOutOfGas(error(message, undefined, code)), expected)
  })

  it("of a halt that Kaia does not name is what the node says", () => {
    const message = "VM error occurs while running smart contract"
    assert.strictEqual(revertReasonOf(error(message, undefined, -32000)), message)
  })

  it("is not decoded from data that is cut off", () => {
    assert.isUndefined(revertReasonOf(error("execution reverted", solidity.slice(0, 140))))
  })

  it.each([
    "EVM error InvalidFEOpcode",
    "EVM error StackUnderflow",
    "invalid opcode: INVALID",
    "stack underflow (0 <=> 1)",
    "invalid jump destination",
    "gas required exceeds allowance (30000000)",
    "Out of gas: gas required exceeds allowance: 30000000",
    "contract creation code storage out of gas",
    "max code size exceeded",
    "BadInstruction",
    "INVALID_OPERATION"
  ])("is the message if the call fails without a revert: %s", (message) => {
    const failed = error(message, undefined, -32000)
    assert.isTrue(failsIn(failed))
    assert.strictEqual(revertReasonOf(failed), message)
  })

  it.each([
    "insufficient funds for gas * price + value",
    "missing trie node",
    "header not found",
    "EVM error database: timeout"
  ])("is not there if the node cannot say: %s", (message) => assert.isFalse(failsIn(error(message, undefined, -32000))))

  it("belongs to a revert only if code or message say so", () => {
    assert.isTrue(isRevert(error("whatever")))
    assert.isTrue(isRevert(error("execution reverted", undefined, -32000)))
    assert.isFalse(isRevert(error("insufficient funds", undefined, -32000)))
  })
})
