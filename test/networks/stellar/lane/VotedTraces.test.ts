// Traces of stellar in the driver on networks whose validators have voted otherwise, and with nodes that answer in ways of their own.
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { assert } from "@effect/vitest"
import type { StellarRequest } from "../../../../src/networks/stellar/rules/Stellar.ts"
import { maxWasmBytes } from "../../../../src/networks/stellar/rules/StellarNumbers.ts"
import { stellarRules } from "../../../../src/networks/stellar/rules/StellarRules.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { call as callOf } from "../../../../testkit/stellar/Building.ts"
import { callCost, counterContract } from "../../../../testkit/stellar/Contracts.ts"
import { keyOf, newAccount } from "../../../../testkit/stellar/Entries.ts"
import type { Faults } from "../../../../testkit/stellar/Provider.ts"
import { genesisVote, publicVote } from "../../../../testkit/stellar/Voted.ts"
import { memory } from "../../../server/ledger/Fixtures.ts"
import * as World from "./World.ts"

const { receiver, xlm } = World

/** Stroops of the receiver before. */
const had = 10n * xlm

/** Milliseconds. */
const hour = 3_600_000

const inAnHour = { validUntil: hour }

/** Ten steps of a world are 50 seconds. */
const steps = 10

type Made = Effect.Success<ReturnType<typeof World.make>>
type Id = Parameters<Made["transaction"]>[0]

const nodeOf = ({ nodes }: Made, index = 0) => nodes[index] ?? assert.fail("no node")

const setFaults = (world: Made, faults: Partial<Faults>) => {
  for (const node of world.nodes) node.faults = { ...node.faults, ...faults }
}

const increment: StellarRequest = {
  operations: [{ type: "invoke_contract", contract_address: counterContract, function_name: "increment", args: [] }]
}

/** The code of a transaction, and the sentence of `explain`. */
const explained = Effect.fnUntraced(function* (world: Made, id: Id) {
  const { cause = assert.fail("it has no cause") } = yield* world.transaction(id)
  return { code: cause.code, figures: cause.figures, ...stellarRules.explain(cause, false) }
})

layerEach(memory)("a network whose reserve is 10 XLM", (it) => {
  const standalone = Effect.fnUntraced(function* (funds: bigint) {
    const world = yield* World.make({ funds })
    world.network.store.voted = genesisVote
    return world
  })

  it.effect("makes a payment wait that its reserves do not leave, instead of one that fails with its fee", () =>
    Effect.gen(function* () {
      const world = yield* standalone(25n * xlm)
      const [id] = yield* world.accept(World.payment(10n * xlm), 1, inAnHour)
      yield* world.poll(2)
      const { code, figures } = yield* explained(world, id)
      assert.deepStrictEqual([code, figures.available], ["insufficient_funds", 5n * xlm])
      world.network.grant(world.address, 10n * xlm)
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("says how much an account needs to exist", () =>
    Effect.gen(function* () {
      const world = yield* standalone(0n)
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(1)
      const { code, next } = yield* explained(world, id)
      assert.strictEqual(code, "no_account")
      assert.include(next, "at least 200000000 stroops")
    })
  )

  it.effect("is asked again after a minute, and what it said counts while no provider says it", () =>
    Effect.gen(function* () {
      const world = yield* standalone(25n * xlm)
      const [id] = yield* world.accept(World.payment(10n * xlm), 1, inAnHour)
      yield* world.poll(2)
      world.lose({ getLatestLedger: "before" })
      yield* world.poll(20)
      assert.strictEqual((yield* explained(world, id)).code, "insufficient_funds")
      world.lose({})
      world.network.store.voted = publicVote
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.isBelow(nodeOf(world).counts.get("getLatestLedger") ?? 0, 10)
    })
  )

  it.effect("says why it never takes a call for which another account pays", () =>
    Effect.gen(function* () {
      const world = yield* standalone(1000n * xlm)
      world.network.store.voted = { ...publicVote, calls: { ...publicVote.calls, perLedger: 1 } }
      const cost = { resourceFee: callCost.nonRefundable + callCost.refundable }
      const paid = yield* World.guestOf(world, "caller", [callOf("increment")], cost).accept
      yield* world.poll(3)
      const { code, reason } = yield* explained(world, paid)
      assert.strictEqual(code, "in_queue")
      assert.include(reason, "counts as two")
      yield* world.finish
      assert.strictEqual((yield* world.transaction(paid)).state, "expired")
      const [own] = yield* world.accept(increment)
      yield* world.finish
      assert.strictEqual((yield* world.transaction(own)).state, "confirmed")
    })
  )
})

layerEach(memory)("a result with a code that this version does not know", (it) => {
  const ends = (of: "transaction" | "operation", faults: Partial<Faults> = {}) =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setFaults(world, { unknownCode: { of, code: -42 }, ...faults })
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      const [next] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.finish
      const found = yield* world.transaction(id)
      assert.strictEqual((yield* world.transaction(next)).state, "confirmed")
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + 2n * xlm)
      return found
    })

  it.effect("of the transaction ends it by the status that the node names, and is shown", () =>
    Effect.gen(function* () {
      const { mined, state } = yield* ends("transaction")
      assert.deepStrictEqual([state, mined?.receipt.details.resultCode], ["confirmed", "txUnknown(-42)"])
      assert.strictEqual(mined?.receipt.paid, 100n)
    })
  )

  it.effect("of an operation ends it by the status that the node names, and is shown", () =>
    Effect.gen(function* () {
      const { mined, state } = yield* ends("operation")
      assert.deepStrictEqual(
        [state, mined?.receipt.details.resultCode, mined?.receipt.details.operationResults],
        ["confirmed", "txSuccess", ["paymentUnknown(-42)"]]
      )
    })
  )

  it.effect("of a transaction that failed ends it as failed", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setFaults(world, { unknownCode: { of: "operation", code: -42 } })
      const nobody = "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI"
      const [id] = yield* world.accept(World.payment(xlm, nobody))
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.figures.error], ["failed", "txFailed, operation 1 paymentUnknown(-42)"])
    })
  )

  it.effect("of a send is shown, and the same bytes are sent again", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.network.store.voted = { ...publicVote, frozen: [receiver.publicKey()] }
      setFaults(world, { unknownCode: { of: "transaction", code: -42 } })
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(3)
      const { code, reason } = yield* explained(world, id)
      assert.deepStrictEqual([code, reason.includes("txUnknown(-42)")], ["try_again_later", true])
      setFaults(world, { unknownCode: undefined })
      world.network.store.voted = publicVote
      yield* world.finish
      const { attempts, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, attempts.length], ["confirmed", 1])
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )
})

layerEach(memory)("a proof that a provider does not have", (it) => {
  it.effect("is asked for again after pauses that grow, and nothing else is signed meanwhile", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const node = nodeOf(world)
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(1)
      node.faults.indexLag = { ledgers: 1000 }
      yield* world.poll(1)
      const before = node.counts.get("getTransactions") ?? 0
      // Two polls in the time of each ledger, for 200 seconds.
      for (let round = 0; round < 4 * steps; round++) {
        yield* TestClock.adjust(2500)
        yield* world.run
        yield* TestClock.adjust(2500)
        world.network.close()
        yield* world.run
      }
      assert.isBelow((node.counts.get("getTransactions") ?? 0) - before, 16)
      const { attempts, cause } = yield* world.transaction(id)
      assert.deepStrictEqual([cause?.code, attempts.length], ["landing_unproven", 1])
      node.faults.indexLag = undefined
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
      assert.strictEqual(world.balanceOf(receiver.publicKey()), had + xlm)
    })
  )
})

layerEach(memory)("a payment that nodes refuse", (it) => {
  it.effect("says that validators filter its account, and goes on when they do not any more", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setFaults(world, { filtered: [world.address] })
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(3)
      const { code, reason } = yield* explained(world, id)
      assert.deepStrictEqual([code, reason.includes("FILTERED")], ["try_again_later", true])
      setFaults(world, { filtered: [] })
      yield* world.finish
      assert.strictEqual((yield* world.transaction(id)).state, "confirmed")
    })
  )

  it.effect("says that its account is frozen until its envelope is dead, and at its end", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      world.network.store.voted = { ...publicVote, frozen: [world.address] }
      const [id] = yield* world.accept()
      yield* world.poll(3)
      const { code, reason } = yield* explained(world, id)
      assert.deepStrictEqual(
        [code, reason.startsWith("Nodes refused it: txFrozenKeyAccessed.")],
        ["awaiting_expiry", true]
      )
      yield* world.finish
      const { attempts, cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual(
        [state, cause?.code, cause?.figures.error],
        ["failed", "refused_by_all", "txFrozenKeyAccessed"]
      )
      assert.lengthOf(attempts, 1)
    })
  )

  it.effect("says at its deadline what nodes said, also if it has no envelope any more", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      setFaults(world, { filtered: [world.address] })
      // The first envelope dies when too little time is left for a second one.
      const [id] = yield* world.accept(World.payment(xlm), 1, { validUntil: 75_000 })
      yield* world.poll(14)
      const waiting = yield* explained(world, id)
      assert.strictEqual(waiting.code, "expiring")
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.deepStrictEqual([state, cause?.code, cause?.figures.error], ["expired", "deadline_passed", "filtered"])
    })
  )
})

layerEach(memory)("a provider that claims that others bid very much", (it) => {
  const claimed = (rate: string) => ({ p95: rate, p99: rate })

  it.effect("holds nothing up while ledgers have room, and costs no more than the base fee", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const fees = { sorobanInclusionFee: claimed("9000000000000"), inclusionFee: claimed("9000000000000") }
      setFaults(world, { replaced: { getFeeStats: fees } })
      const ids = yield* world.accept(World.payment(xlm), 5, inAnHour)
      yield* world.finish
      for (const id of ids) {
        const { attempts, mined, state } = yield* world.transaction(id)
        assert.deepStrictEqual([state, mined?.receipt.paid, attempts[0]?.offer.fee], ["confirmed", 100n, 1_000_000n])
      }
    })
  )
})

layerEach(memory)("a call near a limit of the network", (it) => {
  it.effect("declares no more than the network takes", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const limit = publicVote.calls.instructions
      setFaults(world, { script: { instructions: limit - 1000 } })
      const [id] = yield* world.accept(increment)
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed", cause?.code)
    })
  )
})

layerEach(memory)("code of a contract with as many bytes as the network takes", (it) => {
  it.effect("is uploaded", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const wasm = { base64: Buffer.alloc(maxWasmBytes, 1).toString("base64") }
      const [id] = yield* world.accept({ operations: [{ type: "upload_wasm", wasm }] })
      yield* world.finish
      const { cause, state } = yield* world.transaction(id)
      assert.strictEqual(state, "confirmed", cause?.figures.error)
    })
  )
})

layerEach(memory)("a test network that begins anew without the account of the relayer", (it) => {
  it.effect("stops its transactions as soon as the account exists again", () =>
    Effect.gen(function* () {
      const world = yield* World.make()
      const [before] = yield* world.accept()
      yield* world.finish
      assert.strictEqual((yield* world.transaction(before)).state, "confirmed")
      world.network.put(keyOf.account(world.address), undefined)
      const [id] = yield* world.accept(World.payment(xlm), 1, inAnHour)
      yield* world.poll(2)
      assert.strictEqual((yield* explained(world, id)).code, "no_account")
      world.network.put(keyOf.account(world.address), newAccount(world.address, 100n * xlm, 7))
      yield* world.poll(2)
      assert.strictEqual((yield* explained(world, id)).code, "chain_changed")
      assert.lengthOf((yield* world.transaction(id)).attempts, 0)
    })
  )
})
