// Cancels and replacements in the ledger.
import { evmOf } from "../../../testkit/EvmRows.ts"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { contract } from "./Contract.ts"
import { actions, claimOne, eventsOf, ledger, sentOf, signAll, signature } from "./Fixtures.ts"

contract("a cancel", (it) => {
  it.effect("ends a pending transaction at once, and says so once", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* accept(account(1), 1)
      const canceled = yield* transactions.cancel(1, id)
      assert.strictEqual(canceled.transaction.state, "canceled")
      assert.deepStrictEqual(yield* transactions.get(1, id), canceled)
      assert.strictEqual((yield* Effect.flip(transactions.cancel(1, id)))._tag, "TransactionConflict")
      assert.strictEqual((yield* Effect.flip(transactions.cancel(2, id)))._tag, "TransactionNotFound")
      assert.deepStrictEqual(yield* eventsOf(id), ["transaction.created", "transaction.canceled"])
    })
  )

  it.effect("of a signed transaction is its intent, which the holder of the lane finds", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const lanes = yield* LaneLedger
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      if (signed === undefined) return
      const canceled = yield* transactions.cancel(1, id)
      assert.deepInclude(canceled.transaction, { state: "signed", intent: "cancel" })
      assert.deepStrictEqual(yield* transactions.cancel(1, id), canceled, "a second cancel changes nothing")
      const stale = lanes.commitSignatures(hold, [signature(signed, 0, { kind: "bump" })])
      assert.strictEqual((yield* Effect.flip(stale))._tag, "LaneChanged")
      const [recorded] = yield* lanes.recordSends(hold, [sentOf(signed, true)])
      assert.deepInclude(recorded?.transaction, { state: "submitted", intent: "cancel" })
      const { inFlight } = yield* lanes.read(hold)
      assert.deepStrictEqual(inFlight[0], recorded)
    })
  )
})

contract("a replacement", (it) => {
  it.effect("adds a version and keeps the former ones", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* accept(account(1), 1)
      const replaced = yield* transactions.replace(1, id, { to: account(2).address, value: 2n })
      const twice = yield* transactions.replace(1, id, { value: 3n, data: "0x00" })
      assert.deepStrictEqual(
        evmOf(replaced).transaction.versions.map(({ value }) => value),
        [1n, 2n]
      )
      assert.deepStrictEqual(
        evmOf(twice).transaction.versions.map(({ value }) => value),
        [1n, 2n, 3n]
      )
      assert.deepStrictEqual(yield* transactions.get(1, id), twice)
      yield* transactions.cancel(1, id)
      assert.strictEqual((yield* Effect.flip(transactions.replace(1, id, { value: 4n })))._tag, "TransactionConflict")
    })
  )

  it.effect("with fees has to replace what was sent, and names the field", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* accept(account(1), 1)
      const { hold } = yield* claimOne
      yield* signAll(hold)
      const low = { value: 1n, max_fee_per_gas: 10n, max_priority_fee_per_gas: 1n }
      const refused = yield* Effect.flip(transactions.replace(1, id, low))
      assert.strictEqual(refused._tag, "BadRequest")
      assert.lengthOf((yield* transactions.get(1, id)).transaction.versions, 1)
    })
  )
})

layerEach(ledger)("the audit log", (it) => {
  it.effect("has replacements and cancels", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const [id] = yield* accept(account(1), 1)
      yield* transactions.replace(1, id, { to: account(2).address, value: 2n })
      yield* transactions.replace(1, id, { value: 3n, data: "0x00" })
      yield* transactions.cancel(1, id)
      yield* Effect.flip(transactions.cancel(1, id))
      assert.deepStrictEqual(yield* actions, [
        "transaction.sent",
        "transaction.replaced",
        "transaction.replaced",
        "transaction.canceled"
      ])
    })
  )
})
