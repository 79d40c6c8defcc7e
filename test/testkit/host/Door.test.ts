// The door of the kit's chain for the real service: its nodes call the providers of the chain by JSON-RPC, and read what the chain has.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Calls from "../../../src/networks/evm/chain/EvmCalls.ts"
import { parseSignedTransaction, senderOf } from "../../../src/networks/evm/chain/EvmBytes.ts"
import { evmDialect } from "../../../src/networks/evm/chain/EvmNodes.ts"
import { Breakers } from "../../../src/server/chains/Breakers.ts"
import { RpcNodes } from "../../../src/server/chains/RpcNodes.ts"
import { TestChain } from "../../../src/testkit/index.ts"
import { keyOf } from "../../../src/testkit/evm/Keys.ts"
import { sealed } from "../../../src/testkit/evm/Wire.ts"
import * as Programs from "./Programs.ts"

const door = RpcNodes.layerNoDeps({ attempts: 1 }).pipe(
  Layer.provide([TestChain.access, Breakers.layer()]),
  Layer.provideMerge(TestChain.layer(TestChain.evm({ confirmations: 2 })))
)

const nodeOf = Effect.fnUntraced(function* (index: 0 | 1 = 0) {
  const { chain } = yield* TestChain
  return (yield* RpcNodes).of(evmDialect, chain.providers[index]?.url ?? "")
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
      yield* Effect.sync(chain.chain.tick)
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
