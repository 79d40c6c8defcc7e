// Answers of nodes to a send. Those with a version were seen on that version, unless they say "source": these were read in the sources
// of the node in November 2026. Those of "others" are reported.
import { Arbitrary, Schema } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { classify, minimumNeeded, table, wordsOf } from "../../../../src/networks/evm/rules/Refusal.ts"
import type { AnswerClass } from "../../../../src/networks/evm/rules/Refusal.ts"

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
  ["accepted", "EthereumJS client 0.10.5, source", "0x12: this transaction is already in the TxPool"],
  ["accepted", "Kaia 2.2.1", "known transaction: 586b1f"],
  [
    "nonce",
    "Hardhat 3.18 automine",
    "Nonce too low. Expected nonce to be 2 but got 1. Note that transactions can't be queued when automining."
  ],
  ["nonce", "geth 1.17.10", "nonce too low: next nonce 1, tx nonce 0"],
  ["nonce", "Ganache 7.9.2", "the tx doesn't have the correct nonce. account has nonce of: 3 tx has nonce of: 1"],
  ["nonce", "EthereumJS client 0.10.5, source", "0x12 tries to send with nonce 1 (tx nonce too low)"],
  ["nonce", "Erigon, source", "mined"],
  ["nonce", "Cosmos EVM, source", "tx nonce is lower than account nonce"],
  ["nonce", "Nitro, source", "tx replaced"],
  ["bump", "EthereumJS client 0.10.5", "replacement gas too low, got tip 1, min: 2, got fee 3, min: 4"],
  ["bump", "Kaia 2.2.1", "there is another tx which has the same nonce in the tx pool"],
  ["price", "geth 1.17.10", "transaction gas price below minimum: gas tip cap 0, minimum needed 1"],
  [
    "price",
    "Hardhat 3.18 automine",
    "Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 7"
  ],
  ["price", "Ganache 7.9.2", "transaction underpriced"],
  [
    "price",
    "Avalanche C 1.14.0",
    "transaction underpriced: address 0x12 have gas fee cap (0) < pool minimum fee cap (1)"
  ],
  ["price", "Besu, source", "Gas price below current base fee"],
  ["price", "Besu, source", "Gas price below configured minimum gas price"],
  ["price", "Kaia 2.2.1", "invalid gas price. It must be set to value greater than or equal to baseFee"],
  ["price", "Kaia 2.2.1", "invalid gas fee cap. It must be set to value greater than or equal to baseFee"],
  [
    "price",
    "Cosmos evmd, July 2026",
    "inserting tx: max fee per gas (1) is lower than the base fee (22096355): insufficient fee [errors.go:165]"
  ],
  ["price", "Cosmos EVM, source", "gas prices too low, got: 1 required: 2: insufficient fee"],
  ["price", "Cosmos EVM, source", "gas prices too low"],
  ["price", "Cosmos EVM, source", "insufficient fees; got: 1 required: 2"],
  [
    "order",
    "Hardhat 3.18 automine",
    "Nonce too high. Expected nonce to be 2 but got 3. Note that transactions can't be queued when automining."
  ],
  ["order", "Kaia 2.2.1 and evmd", "gapped-nonce tx from delegated accounts"],
  ["order", "Besu, source", "Transaction nonce is too distant from current sender nonce"],
  ["order", "Besu, source", "An invalid transaction with a lower nonce exists"],
  ["order", "Cosmos EVM, source", "tx nonce is higher than account nonce"],
  ["order", "Cosmos EVM, source", "invalid nonce; got 5, expected 6: invalid sequence"],
  ["funds", "geth 1.17.10", "insufficient funds for gas * price + value: balance 0, tx cost 1, overshot 1"],
  ["funds", "Kaia 2.2.1", "insufficient funds of the sender for value "],
  ["funds", "Kaia 2.2.1, source", "insufficient balance of the sender to pay for gas"],
  [
    "funds",
    "EthereumJS client 0.10.5, source",
    "0x12 does not have enough balance to cover transaction costs, need 2 (insufficient balance)"
  ],
  ["funds", "Kaia 2.2.1, estimate", "err: insufficient balance for transfer (supplied gas 1)"],
  ["funds", "Cosmos evmd, July 2026, estimate", "rpc error: code = Unknown desc = insufficient balance for transfer"],
  ["funds", "ZKsync, source", "not enough balance to cover the fee. Required: 2"],
  ["window", "EthereumJS client 0.10.5, source", "Cannot add tx: pool is full"],
  ["window", "EthereumJS client 0.10.5, source", "Cannot add tx: already have max amount of txs for this account"],
  ["window", "Erigon, source", "pending sub-pool is full"],
  ["window", "Erigon, source", "baseFee sub-pool is full"],
  ["window", "Erigon, source", "queued sub-pool is full"],
  ["window", "Erigon, source", "spammer"],
  ["order", "geth 1.17.10", "authority already reserved"],
  ["window", "reth, source", "address already reserved"],
  ["window", "Cosmos EVM, source", "mempool is full: number of txs 5000"],
  ["window", "Cosmos EVM, source", "queue full"],
  ["window", "Nitro, source", "sequencer queue full, please try again later"],
  ["window", "Kaia 2.2.1 and evmd", "in-flight transaction limit reached for delegated accounts"],
  ["permanent", "geth 1.17.10", "max priority fee per gas higher than max fee per gas"],
  ["permanent", "Hardhat 3.18", "maxPriorityFeePerGas (2) is bigger than maxFeePerGas (1)"],
  ["permanent", "Kaia 2.2.1", "max fee per gas higher than max priority fee per gas"],
  ["permanent", "Hardhat 3.18", "Transaction requires at least 21000 gas but got 20999"],
  ["permanent", "Avalanche C 1.14.0", "exceeds block gas limit: tx gas (10000001) > current max gas (10000000)"],
  ["permanent", "Kaia 2.2.1", "tx gas limit exceeds the upper limit: gas 2, limit 1"],
  ["permanent", "Kaia 2.2.1, source", "insufficient gas for floor data gas cost"],
  ["permanent", "reth, source", "exceeds max transaction gas limit"],
  ["permanent", "Besu, source", "Transaction gas limit cap exceeded"],
  ["permanent", "Besu, source", "Transaction fee cap exceeded"],
  ["permanent", "Erigon, source", "gas limit is too high"],
  ["permanent", "geth 1.17.10", "max initcode size exceeded: code size 49153 limit 49152"],
  ["permanent", "Hardhat 3.18", "\nTrying to send a deployment transaction whose init code length is 49153."],
  ["permanent", "Ganache 7.9.2", "Transaction's data/input field is greater than 49152 bytes, ..."],
  ["permanent", "Erigon, source", "initcode too large"],
  ["permanent", "Erigon, source", "RLPTooLong"],
  ["permanent", "geth 1.17.10", "invalid sender: invalid chain id for signer: have 1338 want 1337"],
  [
    "permanent",
    "Hardhat 3.18",
    "Trying to send a raw transaction with an invalid chainId. The expected chainId is 31337"
  ],
  ["permanent", "Hardhat 3.18", "Trying to send an incompatible EIP-155 transaction, signed for another chain."],
  ["permanent", "Ganache 7.9.2", "Invalid chain id (1338) for chain with id 1337."],
  ["permanent", "Ganache 7.9.2", "Invalid signature v value"],
  ["permanent", "Besu, source", "Wrong chainId"],
  ["permanent", "Cosmos evmd, July 2026", "incorrect chain-id; expected 262144, got 262145"],
  ["permanent", "geth 1.17.10", "only replay-protected (EIP-155) transactions allowed over RPC"],
  ["permanent", "geth 1.17.10", "set code tx must have at least one authorization tuple"],
  ["permanent", "geth 1.17.10", "EIP-7702 transaction with empty auth list"],
  ["permanent", "Hardhat 3.18", "Invalid EIP-7702 transaction: authorization list is empty."],
  ["permanent", "anvil 1.7.1", "Eip7702 is not supported"],
  ["permanent", "Ganache 7.9.2", "Could not decode transaction: invalid RLP: remainder must be zero"],
  ["permanent", "reth, source", "sender not an eoa"],
  ["permanent", "Besu, source", "Sender account not authorized to send transactions"],
  ["permanent", "Tempo of anvil 1.7.1", "native value transfer not allowed in Tempo mode"],
  ["permanent", "Tempo of anvil 1.7.1, estimate", "tempo transaction error: value transfer not allowed"],
  ["provider", "Besu, source", "Initial sync is still in progress"],
  [
    "provider",
    "Besu, source",
    "Transaction pool not enabled. (Either txpool explicitly disabled or node not yet in sync)"
  ],
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
    for (const [code, message] of [
      [429, "x"],
      [-32029, "x"],
      [-32007, "50/second request limit reached"],
      [-32603, "Too many requests"],
      [-32002, "request timed out"],
      [-32000, "context deadline exceeded"]
    ] as const) {
      assert.strictEqual(classify({ _tag: "RpcError", code, message }), "provider", message)
    }
    assert.strictEqual(classify({ _tag: "HttpError", status: 408 }), "provider")
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

  it("is kept in one line, without what a database or a terminal cannot take", () => {
    assert.strictEqual(wordsOf("\nTrying to send\u0000\u001b[31m \u0018\u0012u\ttwice "), "Trying to send [31m u twice")
    assert.lengthOf(wordsOf("long ".repeat(1000)), 300)
    assert.strictEqual(wordsOf("\ud800"), "")
  })

  it("may name the price that the node needs", () => {
    assert.strictEqual(
      minimumNeeded("transaction underpriced: gas tip cap 0, minimum needed 25000000000"),
      25_000_000_000n
    )
    assert.isUndefined(minimumNeeded("transaction underpriced"))
  })
})
