// The route of a transaction in the ledger: a fact of its acceptance, which only a fallback of its own or a caller changes.
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command } from "../../../src/networks/core/Rules.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { accept, account } from "../../../testkit/LedgerRows.ts"
import { contract } from "./Contract.ts"
import { claimOne, eventsOf, signAll } from "./Fixtures.ts"

const falling = { kind: "private", fallbackAfter: 60_000 } as const

contract("the route of a transaction", (it) => {
  it.effect("is stored with its acceptance, and a public one has none", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const [secret] = yield* accept(account(1), 1, { route: falling })
      const [open] = yield* accept(account(1), 1)
      assert.deepStrictEqual((yield* ledger.get(1, secret)).transaction.route, falling)
      assert.isUndefined((yield* ledger.get(1, open)).transaction.route)
    })
  )

  it.effect("is changed by the holder of the lane, with its moment and one event", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const lanes = yield* LaneLedger
      const [id] = yield* accept(account(1), 1, { route: falling })
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      const stored = signed ?? assert.fail("nothing was signed")
      yield* TestClock.adjust("5 seconds")
      const waits = { ...falling, since: 5000 }
      const [waiting] = yield* lanes.apply(hold, [{ stored, command: Command.Reroute({ route: waits }) }])
      assert.deepStrictEqual((yield* ledger.get(1, id)).transaction.route, waits)
      const route = { ...waits, seenPublicly: 6000, kind: "fell_back", since: 65_000 } as const
      const seen = { ...waits, seenPublicly: 6000 }
      const [leaked] = yield* lanes.apply(hold, [
        { stored: waiting ?? stored, command: Command.Reroute({ route: seen }) }
      ])
      assert.deepStrictEqual((yield* ledger.get(1, id)).transaction.route, seen)
      assert.deepStrictEqual((yield* eventsOf(id)).slice(-1), ["transaction.seen_publicly"])
      yield* lanes.apply(hold, [{ stored: leaked ?? stored, command: Command.Reroute({ route }) }])
      assert.deepStrictEqual((yield* ledger.get(1, id)).transaction.route, route)
      assert.deepStrictEqual((yield* eventsOf(id)).slice(-1), ["transaction.route_changed"])
    })
  )

  it.effect("becomes public by a caller once, and by no caller of another relayer", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const [id] = yield* accept(account(1), 1, { route: falling })
      yield* TestClock.adjust("5 seconds")
      const { transaction } = yield* ledger.publish(1, id)
      assert.deepStrictEqual(transaction.route, { ...falling, kind: "fell_back", since: 5000 })
      assert.deepStrictEqual(yield* ledger.publish(1, id), yield* ledger.get(1, id))
      assert.deepStrictEqual(yield* eventsOf(id), ["transaction.created", "transaction.route_changed"])
      assert.strictEqual((yield* Effect.flip(ledger.publish(2, id)))._tag, "TransactionNotFound")
    })
  )

  it.effect("of a public or an ended transaction stays", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const [open] = yield* accept(account(1), 1)
      assert.isUndefined((yield* ledger.publish(1, open)).transaction.route)
      const [ended] = yield* accept(account(1), 1, { route: falling })
      yield* ledger.cancel(1, ended)
      const error = yield* Effect.flip(ledger.publish(1, ended))
      assert.strictEqual(error._tag, "TransactionConflict")
      assert.include(error.message, "is canceled: only an open transaction can be made public")
    })
  )

  it.effect("stays when the transaction goes back to pending, and its time begins anew", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const lanes = yield* LaneLedger
      const [id] = yield* accept(account(1), 1, { route: falling })
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      const stored = signed ?? assert.fail("nothing was signed")
      const [waiting] = yield* lanes.apply(hold, [
        { stored, command: Command.Reroute({ route: { ...falling, since: 5000 } }) }
      ])
      const command = Command.Requeue({ restored: false, requeues: 1, cause: cause("nonce_taken") })
      yield* lanes.apply(hold, [{ stored: waiting ?? stored, command }])
      assert.deepStrictEqual((yield* ledger.get(1, id)).transaction.route, falling)
    })
  )
})
