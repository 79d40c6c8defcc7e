// Calls of contracts in the driver: what their simulation finds ends them before anything is signed, or is signed.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { StellarRequest } from "../../../../src/domain/transaction/stellar/Stellar.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import {
  addressEntry,
  addressValue,
  amountValue,
  call as callOf,
  invocation,
  keyNamed,
  passphrase,
  sourceEntry,
  transaction
} from "../../../../testkit/stellar/Building.ts"
import { counterContract, nativeContract } from "../../../../testkit/stellar/Contracts.ts"
import { ledger } from "../../ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

/** Stroops of the receiver before. */
const had = 10n * xlm

const call = (name: string): StellarRequest => ({
  operations: [{ type: "invoke_contract", contract_address: counterContract, function_name: name, args: [] }]
})

layerEach(ledger)("a call of a contract", (it) => {
  it.effect("is simulated, and signed with the resources that it needs", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [id] = yield* world.accept(call("increment"))
      yield* world.finish
      const { attempts, cause, mined, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed", cause?.code)
      assert.isAbove(Number(attempts[0]?.offer.resourceFee ?? 0n), 0)
      assert.isAtMost(Number(mined?.receipt.paid), Number(attempts[0]?.offer.fee))
    })
  )

  it.effect(
    "that takes more XLM than the API key may send ends before anything is signed, whatever it authorizes",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const { address } = world
        const args = [addressValue(address), addressValue(receiver), amountValue(xlm)]
        const below = [invocation(nativeContract(passphrase), "transfer", args)]
        const auth = [sourceEntry(invocation(counterContract, "transfer", args, below))]
        const unsigned = transaction(address, [callOf("transfer", args, { auth })], { sequence: 1n }).toXDR()
        const [refused] = yield* world.accept({ transaction_xdr: unsigned, max_value: xlm - 1n })
        const [allowed] = yield* world.accept({ transaction_xdr: unsigned, max_value: xlm })
        yield* world.finish
        const { attempts, cause, state } = yield* world.transaction(refused)
        assert.deepStrictEqual([state, cause?.code, attempts.length], ["failed", "balance_change", 0])
        assert.strictEqual((yield* world.transaction(allowed)).state, "confirmed")
        assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
      })
  )

  it.effect(
    "that acts for another account of the service, which only its simulation names, ends before anything is signed",
    () =>
      Effect.gen(function* () {
        const world = yield* World.make()
        const [node] = world.nodes
        if (node === undefined) return assert.fail("no node")
        const sibling = keyNamed("sibling").publicKey()
        const entry = addressEntry(sibling, invocation(counterContract, "increment"))
        node.faults.script = { auth: [entry.toXdr("base64")] }
        const code = Effect.fnUntraced(function* () {
          const [id] = yield* world.accept(call("increment"))
          yield* world.poll()
          const { attempts, cause, state } = yield* world.transaction(id)
          return [state, cause?.code, attempts.length]
        })
        world.siblings.add(sibling)
        assert.deepStrictEqual(yield* code(), ["failed", "auth_not_granted", 0])
        // The relayer does not act for somebody else: that authorization is the caller's matter.
        world.siblings.clear()
        assert.strictEqual((yield* code())[2], 1)
      })
  )

  it.effect("that fails in the simulation ends without a sequence, before anything is signed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const before = world.sequence()
      const [id] = yield* world.accept(call("fail"))
      yield* world.finish
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "failed")
      assert.strictEqual(cause?.code, "would_fail")
      assert.lengthOf(attempts, 0)
      assert.strictEqual(world.sequence(), before)
    })
  )
})
