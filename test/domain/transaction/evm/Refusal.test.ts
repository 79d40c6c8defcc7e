// Answers of nodes to a send. The texts of geth 1.16.9, anvil 1.7.1 and hardhat 3.18 were seen; those of others are reported.
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { classify, minimumNeeded, table } from "../../../../src/domain/transaction/evm/Refusal.ts"
import type { AnswerClass } from "../../../../src/domain/transaction/evm/Refusal.ts"

const texts: ReadonlyArray<readonly [AnswerClass, string, string]> = [
  ["accepted", "geth", "already known"],
  ["accepted", "anvil", "transaction already imported"],
  ["accepted", "hardhat", "Known transaction: 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"],
  ["accepted", "others", "Known transaction"],
  ["accepted", "others", "AlreadyKnown"],
  ["accepted", "others", "Transaction with the same hash was already imported."],
  ["accepted", "others", "transaction already exists"],
  ["accepted", "others", "tx already in mempool"],
  ["nonce", "geth", "nonce too low: next nonce 7, tx nonce 0"],
  ["nonce", "anvil", "nonce too low"],
  ["nonce", "hardhat", "Transaction nonce too low. Expected nonce to be at least 7 but got 0."],
  ["nonce", "others", "nonce is too low"],
  ["nonce", "others", "OldNonce"],
  ["nonce", "others", "nonce has already been used"],
  ["bump", "geth", "replacement transaction underpriced"],
  ["bump", "hardhat", "Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 1 is necessary"],
  ["bump", "others", "could not replace existing tx"],
  ["bump", "others", "ReplacementNotAllowed"],
  ["bump", "others", "transaction underpriced: replacement needs more"],
  ["bump", "others", "gas price too low to replace"],
  ["bump", "others", "fee bump is not enough to replace"],
  ["price", "geth", "transaction underpriced: gas tip cap 0, minimum needed 1"],
  ["price", "others", "FeeTooLow, EffectivePriorityFeePerGas too low 0 < 1"],
  ["price", "anvil", "max fee per gas less than block base fee"],
  ["price", "others", "gas price below minimum"],
  ["price", "others", "fee too low"],
  ["order", "others", "nonce too high: address 0x1, tx: 9 state: 7"],
  ["order", "others", "transaction nonce is too high"],
  ["order", "others", "tx-nonce-too-high"],
  ["order", "geth", "nonce gap"],
  ["order", "geth, delegated", "gapped-nonce tx from delegated accounts"],
  ["order", "others", "exceeds next nonce 7"],
  ["order", "others", "transaction nonce too far in the future"],
  ["order", "others", "nonce out of range"],
  ["order", "geth", "future transaction tries to replace pending"],
  ["funds", "geth", "insufficient funds for gas * price + value: balance 1, tx cost 2, overshot 1"],
  [
    "funds",
    "geth, pooled",
    "insufficient funds for gas * price + value: balance 1, queued cost 2, tx cost 2, overshot 3"
  ],
  ["funds", "anvil", "Insufficient funds for gas * price + value"],
  ["funds", "hardhat", "Sender doesn't have enough funds to send tx. The max upfront cost is: 2"],
  ["funds", "others", "InsufficientFunds, Account balance: 0"],
  ["funds", "others", "Upfront cost exceeds account balance"],
  ["funds", "others", "sender balance too low"],
  ["window", "geth, delegated", "in-flight transaction limit reached for delegated accounts"],
  ["window", "geth", "txpool is full"],
  ["window", "others", "account limit exceeded"],
  ["window", "others", "exceeds the number of slots of the sender"],
  ["permanent", "anvil", "intrinsic gas too low"],
  ["permanent", "anvil", "intrinsic gas too high -- tx.gas_limit > env.block.gas_limit"],
  ["permanent", "geth", "exceeds block gas limit"],
  ["permanent", "geth", "transaction gas limit too high (cap: 16777216, tx: 16777217)"],
  ["permanent", "hardhat", "Transaction gas limit is 16777217 and exceeds transaction gas cap of 16777216"],
  ["permanent", "geth", "oversized data: transaction size 131200, limit 131072"],
  ["permanent", "geth", "max initcode size exceeded"],
  ["permanent", "geth", "invalid sender"],
  ["permanent", "anvil", "invalid chain id for signer"],
  ["permanent", "geth", "transaction type not supported"],
  ["permanent", "geth", "tx fee (1.20 ether) exceeds the configured cap (1.00 ether)"],
  ["unknown", "any", "unknown transaction"],
  ["unknown", "any", "something that no table has"],
  ["unknown", "any", ""]
]

describe("a node's answer", () => {
  it.each(texts)("is %s: %s says %j", (expected, _, message) => {
    assert.strictEqual(classify({ _tag: "RpcError", code: -32000, message }), expected)
    assert.strictEqual(classify({ _tag: "RpcError", message: message.toUpperCase() }), expected)
  })

  it("every pattern of the table decides at least one of these texts", () => {
    for (const [row, patterns] of table) {
      for (const pattern of patterns) {
        const isReached = texts.some(([expected, , text]) => expected === row && pattern.test(text.toLowerCase()))
        assert.isTrue(isReached, String(pattern))
      }
    }
  })

  it("that is a hash is an acceptance; none at all, 429, 5xx and -32005 say nothing about the transaction", () => {
    assert.strictEqual(classify({ _tag: "Hash" }), "accepted")
    assert.strictEqual(classify({ _tag: "NoAnswer" }), "provider")
    assert.strictEqual(classify({ _tag: "HttpError", status: 429, message: "Too Many Requests" }), "provider")
    assert.strictEqual(classify({ _tag: "HttpError", status: 503 }), "provider")
    assert.strictEqual(classify({ _tag: "RpcError", code: -32005, message: "limit exceeded" }), "provider")
    assert.strictEqual(classify({ _tag: "HttpError", status: 403 }), "unknown")
  })

  it("that carries a known text is classified by it, whatever its code or status", () => {
    assert.strictEqual(classify({ _tag: "RpcError", code: -32005, message: "nonce too low" }), "nonce")
    assert.strictEqual(classify({ _tag: "HttpError", status: 500, message: "already known" }), "accepted")
  })

  it.prop("is permanent only by the table", [Arbitrary.schema(Schema.String)], ([message]) => {
    const permanent = table.find(([row]) => row === "permanent")?.[1] ?? []
    if (classify({ _tag: "RpcError", message }) === "permanent") {
      assert.isTrue(permanent.some((pattern) => pattern.test(message.toLowerCase())))
    }
  })

  it("may name the price that the node needs", () => {
    assert.strictEqual(
      minimumNeeded("transaction underpriced: gas tip cap 0, minimum needed 25000000000"),
      25_000_000_000n
    )
    assert.isUndefined(minimumNeeded("transaction underpriced"))
  })
})
