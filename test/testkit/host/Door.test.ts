// The door of the kit's chain for the real service: its nodes call the providers of the chain by JSON-RPC, and read what the chain has.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Calls from "../../../src/networks/evm/chain/EvmCalls.ts"
import { parseSignedTransaction, senderOf } from "../../../src/networks/evm/chain/EvmBytes.ts"
import { evmDialect } from "../../../src/networks/evm/chain/EvmNodes.ts"
import * as SolanaCalls from "../../../src/networks/solana/chain/SolanaCalls.ts"
import * as SolanaLooks from "../../../src/networks/solana/chain/SolanaLooks.ts"
import { buildMessage, messageBytes } from "../../../src/networks/solana/rules/Wire.ts"
import { base64Of, bytesOf } from "../../../src/networks/solana/rules/SolanaExchanges.ts"
import { openQuestionOf } from "../../../src/networks/solana/rules/SolanaSeen.ts"
import * as StellarCalls from "../../../src/networks/stellar/chain/StellarCalls.ts"
import { library } from "../../../src/networks/stellar/chain/StellarLibrary.ts"
import * as StellarLooks from "../../../src/networks/stellar/chain/StellarLooks.ts"
import { dialect as stellarDialect, send as sendEnvelope } from "../../../src/networks/stellar/chain/StellarNodes.ts"
import { Breakers } from "../../../src/server/chains/Breakers.ts"
import { RpcNodes } from "../../../src/server/chains/RpcNodes.ts"
import { TestChain } from "../../../src/testkit/index.ts"
import type { TestNetwork } from "../../../src/testkit/index.ts"
import { keyOf } from "../../../src/testkit/Keys.ts"
import { sealed } from "../../../src/testkit/evm/Wire.ts"
import * as SolanaBytes from "../../../src/testkit/solana/Bytes.ts"
import * as StellarWire from "../../../src/testkit/stellar/Wire.ts"
import * as Programs from "./Programs.ts"

const doorOf = (network: TestNetwork) =>
  RpcNodes.layerNoDeps({ attempts: 1 }).pipe(
    Layer.provide([TestChain.access, Breakers.layer()]),
    Layer.provideMerge(TestChain.layer(network))
  )

const door = doorOf(TestChain.evm({ confirmations: 2 }))

const nodeOf = Effect.fnUntraced(function* (index: 0 | 1 = 0) {
  const { kit, network } = yield* TestChain
  const dialects = { evm: evmDialect, solana: SolanaCalls.solanaDialect, stellar: stellarDialect }
  return (yield* RpcNodes).of(dialects[network.type], kit.chain.providers[index]?.url ?? "")
})

const { addresses, secret } = keyOf(Programs.key)

const payment = (nonce: number, gasPrice?: bigint) =>
  sealed(
    {
      chainId: 31_337,
      nonce,
      ...Programs.payment,
      data: "0x",
      gasLimit: 30_000n,
      fees:
        gasPrice === undefined
          ? { type: "eip1559", maxFee: 5_000_000_000n, tip: 1_000_000_000n }
          : { type: "legacy", gasPrice }
    },
    secret
  )

const hex = (raw: Uint8Array) => `0x${Buffer.from(raw).toString("hex")}`

const send = Effect.fnUntraced(function* (raw: Uint8Array, index: 0 | 1 = 0) {
  const node = yield* nodeOf(index)
  return yield* node.send({ method: "eth_sendRawTransaction", params: [hex(raw)] })
})

describe("a node of the service on the chain of the kit", () => {
  it.effect("reads chain id, blocks, counts, balances, prices and estimates", () =>
    Effect.gen(function* () {
      const node = yield* nodeOf()
      const chain = yield* TestChain
      assert.strictEqual(yield* node.call(Calls.chainId), 31_337n)
      const head = yield* node.call(Calls.blockAt("latest"))
      assert.strictEqual(head?.number, yield* chain.height)
      assert.strictEqual(yield* node.call(Calls.countAt(addresses.evm, "latest")), 0)
      assert.strictEqual(yield* node.call(Calls.balanceOf(addresses.evm)), 100n * 10n ** 18n)
      assert.strictEqual(yield* node.call(Calls.codeOf(addresses.evm)), "0x")
      assert.strictEqual(yield* node.call(Calls.gasPrice), 2_000_000_000n)
      assert.strictEqual((yield* node.call(Calls.feeHistory("latest"))).baseFeePerGas?.length, 11)
      const call = { from: addresses.evm, ...Programs.payment }
      assert.deepStrictEqual(yield* Calls.nodeEstimate(node, call), { _tag: "Gas", gas: 21_000n })
      yield* chain.failEstimates(Programs.payment.to)
      assert.strictEqual((yield* Calls.nodeEstimate(node, call))._tag, "Reverts")
    }).pipe(Effect.provide(door))
  )

  it.effect.each([undefined, 5_000_000_000n])("sends bytes, and reads their receipt, of type %s", (gasPrice) =>
    Effect.gen(function* () {
      const node = yield* nodeOf()
      const chain = yield* TestChain
      const bytes = payment(0, gasPrice)
      assert.deepStrictEqual(yield* send(bytes.raw), { _tag: "Result", value: bytes.hash })
      assert.isNull(yield* node.call(Calls.receiptOf(bytes.hash)))
      const pooled = parseSignedTransaction(yield* node.call(Calls.transactionOf(bytes.hash)))
      assert.strictEqual(pooled && (yield* senderOf(pooled)), addresses.evm)
      yield* Effect.sync(chain.kit.chain.tick)
      const receipt = Calls.receiptIn(yield* node.call(Calls.receiptOf(bytes.hash)))
      assert.isTrue(receipt?.isSuccess)
      assert.strictEqual(yield* chain.payments(Programs.payment), 1)
      assert.strictEqual(yield* node.call(Calls.countAt(addresses.evm, "latest")), 1)
      const again = yield* send(bytes.raw)
      assert.deepStrictEqual(again, {
        _tag: "RpcError",
        code: -32_000,
        message: "nonce too low: next nonce 1, tx nonce 0"
      })
    }).pipe(Effect.provide(door))
  )

  it.effect("gets no answer from a provider that is dead, and none to a broadcast whose answer is lost", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      yield* chain.kill(0)
      const node = yield* nodeOf()
      assert.strictEqual((yield* Effect.flip(node.call(Calls.chainId))).code, "unreachable")
      yield* chain.loseBroadcastAnswers(true)
      yield* Effect.flip(send(payment(0).raw, 1))
      assert.isTrue(yield* chain.isSent(Programs.payment))
    }).pipe(Effect.provide(door))
  )

  it.effect("reads the block of a provider that lies from it alone", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      const bytes = payment(0)
      yield* send(bytes.raw)
      yield* chain.lie(Programs.payment)
      const [liar, other] = [yield* nodeOf(0), yield* nodeOf(1)]
      assert.isNotNull(yield* liar.call(Calls.receiptOf(bytes.hash)))
      assert.isNull(yield* other.call(Calls.receiptOf(bytes.hash)))
      assert.strictEqual(yield* chain.payments(Programs.payment), 0)
    }).pipe(Effect.provide(door))
  )
})

describe("a node of the service on the cluster of the kit", () => {
  const cluster = doorOf(TestChain.solana())
  const { addresses, secret } = keyOf(Programs.key)
  const { to, value } = Programs.payments.solana

  /** The payment with the newest blockhash of a node. */
  const signed = Effect.gen(function* () {
    const node = yield* nodeOf()
    const { value: newest } = yield* node.call(SolanaCalls.latestBlockhash)
    const { bodyOf } = yield* TestChain
    const body = bodyOf(addresses.solana, { to, value })
    const [instruction] = "instructions" in body ? (body.instructions ?? []) : []
    const message = buildMessage({
      payer: addresses.solana,
      instructions: [
        {
          program: instruction?.program_id ?? "",
          accounts: [
            { address: addresses.solana, isWritable: true },
            { address: to, isWritable: true }
          ],
          data: bytesOf(instruction?.data ?? "")
        }
      ],
      blockhash: newest.blockhash
    })
    const bytes = messageBytes(message)
    return SolanaBytes.sealed({ message, messageBytes: bytes, signatures: [undefined], size: bytes.length }, secret)
  })

  it.effect("reads the cluster, sends bytes, and sees them land and become final", () =>
    Effect.gen(function* () {
      const node = yield* nodeOf()
      const chain = yield* TestChain
      yield* chain.mine(40)
      const { absoluteSlot, blockHeight } = yield* node.call(SolanaCalls.epochInfo)
      assert.strictEqual((yield* node.call(SolanaCalls.blockHeight("processed"))) - blockHeight, 32)
      assert.isAbove(absoluteSlot, blockHeight)
      assert.strictEqual((yield* node.call(SolanaCalls.balanceOf(addresses.solana))).value, 100n * 10n ** 9n)
      assert.deepStrictEqual(
        yield* node.call(SolanaCalls.prioritizationFees([])).pipe(Effect.map((fees) => fees.length)),
        1
      )
      const { fee, hash, raw, wire } = yield* signed
      const validity = node.call(SolanaCalls.isBlockhashValid(wire.message.blockhash, "processed"))
      assert.isTrue((yield* validity).value)
      const { value: simulated } = yield* node.call(SolanaCalls.simulate(base64Of(raw), [addresses.solana]))
      assert.deepStrictEqual([simulated.err, simulated.fee], [null, fee])
      assert.strictEqual(simulated.accounts?.[0]?.lamports, 100n * 10n ** 9n - fee - value)
      assert.deepStrictEqual(yield* SolanaCalls.sendTransaction(base64Of(raw))(node), { _tag: "Signature" })
      const status = Effect.map(
        node.call(SolanaCalls.statuses([hash])),
        (answer) => answer.value[0]?.confirmationStatus
      )
      assert.isUndefined(yield* status)
      yield* chain.mine()
      assert.strictEqual(yield* status, "confirmed")
      yield* chain.mine(32)
      assert.strictEqual(yield* status, "finalized")
      assert.strictEqual((yield* node.call(SolanaCalls.landingOf(hash)))?.meta?.fee, fee)
      assert.strictEqual(yield* chain.payments({ to, value }), 1)
      yield* chain.mine(150)
      assert.isFalse((yield* validity).value)
    }).pipe(Effect.provide(cluster))
  )

  it.effect("proves that bytes are dead when their blockhash has died in a final block", () =>
    Effect.gen(function* () {
      const node = yield* nodeOf()
      const chain = yield* TestChain
      yield* chain.mine(40)
      const { value: newest } = yield* node.call(SolanaCalls.latestBlockhash)
      const bound = newest.lastValidBlockHeight + 1
      const { absoluteSlot: signedSlot } = yield* node.call(SolanaCalls.epochInfo)
      const offer = { blockhash: newest.blockhash, bound, signedSlot }
      const attempt = { hash: (yield* signed).hash, offer }
      yield* chain.mine(200)
      const sought = { address: addresses.solana, attempts: [attempt], lists: new Map(), now: 0 }
      assert.isUndefined(openQuestionOf(yield* SolanaLooks.proof(node, sought), [attempt], []))
    }).pipe(Effect.provide(cluster))
  )

  it.effect("gets no answer from a provider that is dead, and the words of one that refuses", () =>
    Effect.gen(function* () {
      const chain = yield* TestChain
      const { raw } = yield* signed
      yield* chain.kill(0)
      assert.strictEqual((yield* Effect.flip((yield* nodeOf()).call(SolanaCalls.epochInfo))).code, "unreachable")
      yield* chain.refuse("Node is behind by 42 slots", 1)
      assert.deepStrictEqual(yield* SolanaCalls.sendTransaction(base64Of(raw))(yield* nodeOf(1)), {
        _tag: "RpcError",
        code: -32_005,
        message: "Node is behind by 42 slots"
      })
    }).pipe(Effect.provide(cluster))
  )
})

describe("a node of the service on the stellar network of the kit", () => {
  const ledgers = doorOf(TestChain.stellar())
  const { addresses, secret } = keyOf(Programs.key)
  const payment = Programs.payments.stellar
  const networkId = StellarWire.networkIdOf(TestChain.stellar().passphrase)
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64")

  const signed = (sequence: bigint, fee = 200n) =>
    StellarWire.sealed(
      { source: addresses.stellar, fee, sequence, maxTime: 60n, memo: undefined, payments: [payment] },
      secret,
      networkId
    )

  const given = () => Effect.succeed(new Set<string>())

  it.effect("reads the network, sends an envelope, and finds what became of it", () =>
    Effect.gen(function* () {
      const node = yield* nodeOf()
      const lib = yield* library
      const chain = yield* TestChain
      const { passphrase } = TestChain.stellar()
      assert.strictEqual((yield* node.call(StellarCalls.network)).passphrase, passphrase)
      assert.strictEqual((yield* node.call(StellarCalls.feeStats)).inclusionFee.p95, 100n)
      const account = Effect.gen(function* () {
        const newest = yield* StellarLooks.newest(node)
        const { ledger, of } = yield* StellarLooks.accounts(lib, node, [addresses.stellar], newest)
        return { ledger, entry: of.get(addresses.stellar) }
      })
      const before = yield* account
      assert.strictEqual(before.ledger.number, yield* chain.height)
      assert.deepStrictEqual([before.entry?.sequence, before.entry?.balance], [2n ** 32n, 100n * 10n ** 7n])
      const bytes = signed(2n ** 32n + 1n)
      const send = sendEnvelope(lib, base64(bytes.raw), bytes.hash)
      assert.deepStrictEqual(yield* send(node), { status: "PENDING" })
      assert.deepStrictEqual(yield* send(node), { status: "DUPLICATE" })
      assert.isUndefined(yield* StellarLooks.applied(lib, node, bytes.hash))
      yield* chain.mine()
      const applied = yield* StellarLooks.applied(lib, node, bytes.hash)
      assert.deepStrictEqual([applied?.isSuccess, applied?.code, applied?.fee], [true, "txSuccess", 100n])
      assert.deepStrictEqual(applied?.operations, ["paymentSuccess"])
      const after = yield* account
      assert.strictEqual(after.entry?.seqLedger, applied?.ledger)
      assert.strictEqual(after.entry?.balance, 100n * 10n ** 7n - 100n - payment.value)
      const used = { account: addresses.stellar, sequence: bytes.sequence }
      const range = { from: 1, to: after.ledger.number }
      const { use } = yield* StellarLooks.scan(lib, node, networkId, used, range, given)
      assert.isTrue(use?.hashes.includes(bytes.hash))
      assert.strictEqual(yield* chain.payments(payment), 1)
    }).pipe(Effect.provide(ledgers))
  )

  it.effect("gets the results of envelopes that the network does not take", () =>
    Effect.gen(function* () {
      const node = yield* nodeOf()
      const lib = yield* library
      const chain = yield* TestChain
      const answerTo = ({ hash, raw }: StellarWire.Bytes) => sendEnvelope(lib, base64(raw), hash)(node)
      const next = 2n ** 32n + 1n
      assert.deepStrictEqual(yield* answerTo(signed(next + 1n)), { status: "ERROR", result: "txBadSeq", fee: 100n })
      yield* chain.setBaseFee(500n)
      assert.deepStrictEqual(yield* answerTo(signed(next)), { status: "ERROR", result: "txInsufficientFee", fee: 500n })
      yield* chain.setBaseFee(100n)
      yield* chain.mine(20)
      assert.deepStrictEqual(yield* answerTo(signed(next)), { status: "ERROR", result: "txTooLate", fee: 100n })
      yield* chain.loseBroadcastAnswers(true)
      assert.deepStrictEqual(yield* answerTo(signed(next)), { status: "UNKNOWN" })
      yield* chain.kill(0)
      assert.strictEqual((yield* Effect.flip(node.call(StellarCalls.network))).code, "unreachable")
    }).pipe(Effect.provide(ledgers))
  )
})
