// The encoding of many calls as one, compared with that of viem, and the calls that are refused.
import { assert, describe, it } from "@effect/vitest"
import { encodeFunctionData, parseAbi } from "viem"
import {
  batchFaults,
  batchMode,
  encodeExecute,
  encodeSupportsMode,
  limitFaults,
  policyFaults,
  valueOfCalls,
  wireOf
} from "../../../../src/networks/evm/rules/Batch.ts"
import type { BatchCall } from "../../../../src/networks/evm/rules/Batch.ts"

const abi = parseAbi([
  "struct Call { address to; uint256 value; bytes data; }",
  "function execute(bytes32 mode, bytes executionData) payable",
  "function supportsExecutionMode(bytes32 mode) view returns (bool)"
])
const callsAbi = parseAbi(["struct Call { address to; uint256 value; bytes data; }", "function calls(Call[] calls)"])

const account = `0x${"aa".repeat(20)}`
const receiver = `0x${"0b".repeat(20)}` as const
const token = `0x${"0c".repeat(20)}` as const

/** What viem says of the same calls. */
const encodedByViem = (calls: ReadonlyArray<{ to: `0x${string}`; value: bigint; data: `0x${string}` }>) => {
  const encoded = encodeFunctionData({ abi: callsAbi, functionName: "calls", args: [calls] })
  return encodeFunctionData({
    abi,
    functionName: "execute",
    args: [`0x${batchMode}`, `0x${encoded.slice(10)}`]
  })
}

const transfer: BatchCall = { to: receiver, value: 5n }
const call: BatchCall = { to: token, value: 2n, data: `0xa9059cbb${"11".repeat(64)}` }

const fieldsOf = (violations: ReadonlyArray<{ readonly field: string }>) => violations.map(({ field }) => field)

describe("encoding", () => {
  it("is that of viem, whatever the lengths of the data are", () => {
    for (const lengths of [
      [0, 0],
      [1, 32],
      [31, 33, 64],
      [0, 4, 36, 68, 100],
      Array.from({ length: 50 }, (_, i) => i)
    ]) {
      const calls = lengths.map((length, index) => ({
        to: index % 2 === 0 ? receiver : token,
        value: 10n ** BigInt(index % 40),
        data: `0x${"ab".repeat(length)}` as const
      }))
      assert.strictEqual(encodeExecute(calls), encodedByViem(calls))
    }
  })

  it("is that of viem for the question whether an executor takes batches", () => {
    assert.strictEqual(
      encodeSupportsMode,
      encodeFunctionData({ abi, functionName: "supportsExecutionMode", args: [`0x${batchMode}`] })
    )
  })

  it("writes addresses and data in upper case as those in lower case", () => {
    const upper = [{ to: `0x${"AB".repeat(20)}`, value: 1n, data: "0xABCD" }, transfer]
    const lower = [{ to: `0x${"ab".repeat(20)}`, value: 1n, data: "0xabcd" }, transfer]
    assert.strictEqual(encodeExecute(upper), encodeExecute(lower))
  })

  it("signs a batch as a call of the account to itself that sends no value", () => {
    const wire = wireOf({ value: 7n, calls: [transfer, call] }, account)
    assert.deepStrictEqual(wire, { to: account, value: 0n, data: encodeExecute([transfer, call]) })
  })

  it("leaves a single call as it is", () => {
    assert.deepStrictEqual(wireOf({ to: receiver, value: 7n, data: "0x01" }, account), {
      to: receiver,
      value: 7n,
      data: "0x01"
    })
    assert.deepStrictEqual(wireOf({ value: 0n, data: "0x01" }, account), { value: 0n, data: "0x01" })
  })

  it("counts the values of all calls", () => assert.strictEqual(valueOfCalls([transfer, call, transfer]), 12n))
})

describe("refusals", () => {
  it("names each call to the zero address or to the account itself", () => {
    const calls = [
      transfer,
      { to: `0x${"00".repeat(20)}`, value: 0n },
      { to: account.toUpperCase().replace("0X", "0x"), value: 0n, data: encodeExecute([transfer, call]) }
    ]
    assert.deepStrictEqual(fieldsOf(batchFaults({ calls }, account)), ["calls.1.to", "calls.2.to"])
  })

  it("allows no field of a single call beside the calls", () => {
    const calls = [transfer, call]
    const body = { calls, to: receiver, value: 1n, data: "0x", authorization_list: [] }
    assert.deepStrictEqual(fieldsOf(batchFaults(body, account)), ["to", "data", "value", "authorization_list"])
    assert.deepStrictEqual(batchFaults({ calls, value: 0n }, account), [])
  })

  it("bounds the bytes of all calls together", () => {
    const large = { to: token, value: 0n, data: `0x${"11".repeat(60_000)}` }
    assert.deepStrictEqual(fieldsOf(batchFaults({ calls: [large, large, large] }, account)), ["calls"])
  })

  it("says nothing about a request without calls", () => {
    assert.deepStrictEqual(batchFaults({ to: account, value: 1n }, account), [])
  })

  it("checks each call by the receivers of the policy", () => {
    assert.deepStrictEqual(policyFaults([transfer, call], { receivers: [receiver, token] }), [])
    assert.deepStrictEqual(fieldsOf(policyFaults([transfer, call], { receivers: [receiver] })), ["calls.1.to"])
  })

  it("checks each call by the selectors of the policy", () => {
    const selectors = [`${token}:0xa9059cbb`]
    assert.deepStrictEqual(fieldsOf(policyFaults([transfer, call], { selectors })), ["calls.0.data"])
    assert.deepStrictEqual(policyFaults([transfer, call], { selectors: [...selectors, `${receiver}:0x`] }), [])
  })

  it("compares the sum of the values with the max_value of the API key", () => {
    assert.deepStrictEqual(limitFaults([transfer, call], { max_value: 7n }), [])
    assert.deepStrictEqual(fieldsOf(limitFaults([transfer, call], { max_value: 6n })), ["calls"])
  })

  it("checks each call by receivers and selectors of the API key", () => {
    assert.deepStrictEqual(fieldsOf(limitFaults([transfer, call], { receivers: [token] })), ["calls.0.to"])
    assert.deepStrictEqual(fieldsOf(limitFaults([transfer, call], { selectors: [`${receiver}:0x`] })), ["calls.1.data"])
    assert.deepStrictEqual(limitFaults([transfer, call], {}), [])
  })
})
