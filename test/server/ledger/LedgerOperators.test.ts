// The commands of operators in the ledger: restored transactions, nonces and generations.
import { assert } from "@effect/vitest"
import { Array, Effect, Option } from "effect"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command } from "../../../src/networks/core/Rules.ts"
import { laneOf, nonceOf, noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { Backing, contract } from "./Contract.ts"
import { actions, claimOne, ledger, signAll, signature } from "./Fixtures.ts"

contract("an operator", (it) => {
  it.effect("decides about restored transactions, one or all, of its relayer alone", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [one, two] = yield* accept(account(1), 2)
      const [other] = yield* accept(account(2, 1), 1)
      yield* (yield* Backing).markRestored
      if (one === undefined || two === undefined || other === undefined) return
      const given = { answer: "give_up", id: one } as const
      const [ended] = yield* transactions.resync(account(1), given)
      assert.deepInclude(ended?.transaction, { state: "failed" })
      assert.strictEqual((yield* Effect.flip(transactions.resync(account(1), given)))._tag, "TransactionConflict")
      assert.strictEqual(
        (yield* Effect.flip(transactions.resync(account(1), { answer: "send", id: other })))._tag,
        "TransactionNotFound"
      )
      const sent = yield* transactions.resync(account(1), { answer: "send" })
      assert.deepStrictEqual(
        sent.map(({ id, transaction }) => [id, transaction.restored]),
        [[two, false]]
      )
      assert.isTrue((yield* transactions.get(2, other)).transaction.restored)
      const lane = Option.getOrThrow(yield* transactions.laneOf(account(1)))
      assert.isTrue(lane.trustsCount)
    })
  )

  it.effect("decides about an unproven nonce only after every provider has it in a final block", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      const [one, two] = yield* accept(account(1), 2)
      if (one === undefined || two === undefined) return assert.fail("no rows")
      const { hold } = yield* claimOne
      const [first, second] = yield* signAll(hold)
      if (first === undefined || second === undefined) return assert.fail("not signed")
      const command = Command.Hold({ cause: cause("nonce_taken_unproven"), scope: "transaction" })
      yield* lanes.apply(hold, [
        { stored: first, command },
        { stored: second, command }
      ])
      for (const answer of ["send", "give_up"] as const) {
        for (const usedBelow of [0n, 1n]) {
          const open = yield* Effect.flip(transactions.resync(account(1), { answer, id: two, usedBelow }))
          assert.strictEqual(open._tag, "TransactionConflict")
          assert.include(open.message, "its nonce 1 is open")
        }
        assert.strictEqual(
          (yield* Effect.flip(transactions.resync(account(1), { answer })))._tag,
          "TransactionConflict"
        )
      }
      const [givenUp] = yield* transactions.resync(account(1), { answer: "give_up", id: two, usedBelow: 2n })
      assert.deepInclude(givenUp?.transaction, { state: "signed", intent: "clear", clearCode: "nonce_taken_unproven" })
      assert.strictEqual(givenUp?.transaction.place?.sequence, 1n)
      const decided = yield* transactions.resync(account(1), { answer: "send", usedBelow: 1n })
      assert.deepStrictEqual(
        decided.map(({ id, transaction }) => [id, transaction.state]),
        [[one, "pending"]]
      )
    })
  )

  it.effect("frees the nonce of what is sent again, and the same bytes can be signed at it", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      const [one] = yield* accept(account(1), 1)
      if (one === undefined) return assert.fail("no rows")
      const { hold } = yield* claimOne
      const [first] = yield* signAll(hold)
      if (first === undefined) return assert.fail("not signed")
      const command = Command.Hold({ cause: cause("nonce_taken_unproven"), scope: "transaction" })
      yield* lanes.apply(hold, [{ stored: first, command }])
      yield* transactions.resync(account(1), { answer: "send", id: one, usedBelow: 1n })
      const { stored, pending } = yield* lanes.read(hold)
      yield* lanes.saveLane(hold, {
        chain: stored.chain,
        read: stored,
        lane: laneOf({ ...noncesOf(stored.lane), nextNonce: 0 }),
        usedTrust: false,
        nextPollAt: 0
      })
      const [row = assert.fail("not pending")] = pending
      const { hash = assert.fail("no attempt") } = first.transaction.attempts[0] ?? {}
      const [again] = yield* lanes.commitSignatures(hold, [signature(row, 0, { hash })])
      assert.deepStrictEqual(
        [again?.id, again?.transaction.place?.sequence, again?.transaction.attempts.length],
        [one, 0n, 2]
      )
    })
  )

  it.effect("clears nonces, which end as failed with no-ops", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* accept(account(1), 3)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      const range = { from: 1n, to: 5n, check: () => Effect.void }
      const cleared = yield* transactions.clear(account(1), range)
      assert.deepStrictEqual(
        cleared.rows.map(({ transaction }) => [nonceOf(transaction), transaction.intent]),
        [
          [1, "clear"],
          [2, "clear"]
        ]
      )
      assert.strictEqual((yield* transactions.clear(account(1), range)).changed.size, 0)
      const priced = yield* transactions.clear(account(1), { ...range, price: 9n })
      assert.deepStrictEqual([priced.rows.length, priced.changed.size], [2, 2])
      for (const { id } of priced.rows) {
        assert.strictEqual((yield* transactions.get(1, id)).transaction.clearPrice, 9n)
      }
      const refused = yield* Effect.flip(
        transactions.clear(account(1), { from: 0n, to: 5n, price: 8n, check: () => Effect.fail("no") })
      )
      assert.strictEqual(refused, "no")
    })
  )

  it.effect("begins a generation: bytes of the former one are given up, and the lane starts with nonce 0", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      const [pending] = yield* accept(account(1), 1)
      const ended = yield* transactions.beginGeneration(account(1))
      assert.deepStrictEqual(
        ended.map(({ transaction }) => [transaction.state, transaction.cause?.code]),
        [["failed", "chain_changed"]]
      )
      assert.strictEqual((yield* Effect.flip(lanes.read(hold)))._tag, "LaneLost")
      const next = yield* claimOne
      assert.deepInclude(noncesOf(next.stored.lane), { generation: 1, nextNonce: 0 })
      const contents = yield* lanes.read(next.hold)
      assert.deepStrictEqual(
        contents.pending.map(({ id }) => id),
        [pending]
      )
      const [signed] = yield* lanes.commitSignatures(
        next.hold,
        Array.map([contents.pending[0] ?? assert.fail("none")] as const, (row) => signature(row, 0, { generation: 1 }))
      )
      assert.deepInclude(signed?.transaction, { place: { account: account(1).address, sequence: 0n }, generation: 1 })
      assert.strictEqual((yield* transactions.bySequence(1, 0n)).id, pending)
    })
  )
})

layerEach(ledger)("the audit log", (it) => {
  it.effect("has the commands of operators that did something", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      yield* transactions.resync(account(1), {})
      yield* Effect.flip(transactions.resync(account(1), { answer: "send", id }))
      yield* transactions.clear(account(1), { from: 0n, to: 0n, check: () => Effect.void })
      yield* transactions.beginGeneration(account(1))
      assert.deepStrictEqual(yield* actions, [
        "transaction.sent",
        "nonce.resynced",
        "nonce.cleared",
        "nonce.generation_begun"
      ])
    })
  )
})
