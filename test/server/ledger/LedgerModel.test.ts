// Random sequences of everything that callers, operators and holders of a lane do, compared with the pure functions.
import { evmOf } from "../../../testkit/EvmRows.ts"
import { assert, layer } from "@effect/vitest"
import { Arbitrary, Array, Clock, Effect, Option, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { cause } from "../../../src/networks/core/Cause.ts"
import { Command, finish, mine } from "../../../src/networks/core/Rules.ts"
import { isFinal } from "../../../src/networks/core/Transaction.ts"
import type { Transaction } from "../../../src/networks/core/Transaction.ts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import {
  apply,
  endOf,
  isWorthWriting,
  withAttempt,
  withCancellation,
  withSent
} from "../../../src/networks/core/Transition.ts"
import { attemptNonceOf, nonceOf, noncesOf } from "../../../src/networks/evm/rules/Evm.ts"
import type { Evm } from "../../../src/networks/evm/rules/Evm.ts"
import { cancel } from "../../../src/networks/evm/rules/EvmRules.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { property } from "../../../testkit/Depth.ts"
import { account, newTransaction } from "../../../testkit/LedgerRows.ts"
import { Backing, ledgers } from "./Contract.ts"
import { sentOf, signature } from "./Fixtures.ts"

const Step = Schema.Struct({
  what: Schema.Literals([
    "accept",
    "accept",
    "sign",
    "sign",
    "bump",
    "send",
    "send",
    "refuse",
    "mine",
    "mine",
    "unmine",
    "requeue",
    "confirm",
    "cancel",
    "replace",
    "clear",
    "hold",
    "expire",
    "pass",
    "lose"
  ]),
  which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
})
type Step = typeof Step.Type

const receipt = {
  height: 7,
  blockHash: "0x07",
  isSuccess: true,
  paid: 63_000n,
  details: { gasUsed: 21_000n, effectiveGasPrice: 3n }
}

/** What the holder may decide about a transaction in its state. Undefined: nothing. */
const commandOf = (what: Step["what"], transaction: Transaction<Evm>): Command<Evm> | undefined => {
  const { state, mined, attempts } = transaction
  const nonce = nonceOf(transaction)
  const isInFlight = (state === "signed" || state === "submitted") && mined === undefined
  switch (what) {
    case "mine":
      return isInFlight
        ? mine<Evm>({ mined: { ordinal: attempts.length, receipt }, state: "mined", cause: cause("mined_waiting") })
        : undefined
    case "unmine":
      return state === "mined" ? Command.Unmine({ cause: cause("reorged") }) : undefined
    case "requeue":
      return isInFlight && nonce !== undefined
        ? Command.Requeue({ restored: false, requeues: 1, cause: cause("nonce_taken", { nonce }) })
        : undefined
    case "confirm":
      return state === "mined" ? finish({ state: "confirmed", cause: cause("confirmed", { block: 7 }) }) : undefined
    case "hold":
      return state === "pending"
        ? Command.Hold({ cause: cause("insufficient_funds", { required: 5n }), scope: "lane" })
        : undefined
    default:
      return undefined
  }
}

let runs = 0

/** A case in memory takes a twentieth of the time of one on a database. */
const longCases: Readonly<Record<string, number>> = { "on a database": 150, "in memory": 600 }

for (const [kind, ledger] of ledgers)
  layer(ledger)(`any sequence of changes, ${kind},`, (it) => {
    it.effect.prop(
      "makes of the ledger what the pure functions say, and keeps its invariants",
      [Schema.Array(Step).check(Schema.isMaxLength(40)).pipe(Arbitrary.schema)],
      ([steps]) =>
        Effect.gen(function* () {
          const transactions = yield* Ledger
          const lanes = yield* LaneLedger
          runs += 1
          const accounts = [account(1, 1000 + runs), account(2, 1000 + runs)] as const
          const model = new Map<TransactionId, Transaction<Evm>>()
          const owners = new Map<TransactionId, number>()
          const assigned: Array<number> = []

          const accept = Effect.fnUntraced(function* (which: number) {
            const of = accounts[which % 2] ?? accounts[0]
            const now = yield* Clock.currentTimeMillis
            const [{ stored }] = yield* transactions.accept(of, [newTransaction(now, { priority: (which % 3) - 1 })])
            model.set(stored.id, evmOf(stored).transaction)
            owners.set(stored.id, of.relayerNumber)
          })

          yield* accept(0)
          const lane = Option.getOrThrow(yield* transactions.laneOf(accounts[0])).id
          const claim = Effect.map(lanes.claim(["evm"], 1, [lane]), ([held]) => held?.hold)
          let hold = yield* claim

          const step = Effect.fnUntraced(function* ({ what, which }: Step) {
            const now = yield* Clock.currentTimeMillis
            if (what === "accept") return yield* accept(which)
            if (what === "pass") return yield* TestClock.adjust("3 hours")
            if (what === "lose")
              return yield* Effect.andThen(
                (yield* Backing).passLeases,
                Effect.sync(() => (hold = undefined))
              )
            const [id, transaction] = [...model][which % model.size] ?? assert.fail("no transaction")
            const relayer = owners.get(id) ?? 0
            const of = accounts.find(({ relayerNumber }) => relayerNumber === relayer) ?? accounts[0]
            if (what === "cancel") {
              const expected = cancel(transaction)
              const done = yield* Effect.result(transactions.cancel(relayer, id))
              assert.strictEqual(Result.isSuccess(done), Result.isSuccess(expected))
              if (Result.isSuccess(expected)) model.set(id, withCancellation(transaction, expected.success, now))
              return
            }
            if (what === "replace") {
              const request = { value: BigInt(which), data: "0x01" }
              const done = yield* Effect.result(transactions.replace(relayer, id, request))
              const [first, ...others] = transaction.versions
              if (Result.isSuccess(done)) model.set(id, { ...transaction, versions: [first, ...others, request] })
              return
            }
            if (what === "clear") {
              const range = { from: BigInt(which), to: BigInt(which), check: () => Effect.void }
              const { rows, changed } = yield* transactions.clear(of, range)
              for (const row of rows) if (changed.has(row.id)) model.set(row.id, evmOf(row).transaction)
              return
            }
            hold ??= yield* claim
            if (hold === undefined) return
            if (what === "expire") {
              for (const { id: ended } of yield* lanes.expire(hold)) {
                const before = model.get(ended) ?? assert.fail("unknown")
                assert.isAtMost(before.validUntil, now)
                // One that is being canceled or cleared ends as such, also after its deadline.
                const intent = before.intent === "execute" ? "expire" : before.intent
                model.set(ended, apply(before, endOf({ ...before, intent }), now))
              }
              return
            }
            const { pending, inFlight, stored } = yield* lanes.read(hold)
            if (what === "sign") {
              const signatures = pending
                .slice(0, which)
                .map((row, index) => signature(row, noncesOf(stored.lane).nextNonce + index))
              if (!Array.isReadonlyArrayNonEmpty(signatures)) return
              yield* lanes.commitSignatures(hold, signatures)
              for (const one of signatures) {
                assigned.push(attemptNonceOf(one.attempt))
                model.set(one.stored.id, withAttempt<Evm>(evmOf(one.stored).transaction, one.attempt, one.cause, now))
              }
              return
            }
            const row = [...inFlight, ...pending].find((found) => found.id === id)
            if (row === undefined) return
            const isInFlight = nonceOf(row.transaction) !== undefined && row.transaction.mined === undefined
            if (what === "bump" && isInFlight) {
              const one = signature(row, nonceOf(row.transaction) ?? 0)
              yield* lanes.commitSignatures(hold, [one])
              model.set(id, withAttempt<Evm>(transaction, one.attempt, one.cause, now))
            } else if ((what === "send" || what === "refuse") && isInFlight) {
              const sent = sentOf(row, what === "send", now)
              yield* lanes.recordSends(hold, [sent])
              model.set(id, withSent(transaction, sent.sent))
            } else {
              const command = commandOf(what, evmOf(row).transaction)
              if (command === undefined) return
              yield* lanes.apply(hold, [{ stored: row, command }])
              const after = apply(transaction, command, now)
              if (isWorthWriting(transaction, after)) model.set(id, after)
            }
          })

          for (const one of steps) {
            const before = new Map(model)
            yield* step(one)
            for (const [id, transaction] of model) {
              const former = before.get(id)
              if (former !== undefined && isFinal(former))
                assert.deepStrictEqual(transaction, former, "final states stay")
              const { transaction: found } = yield* transactions.get(owners.get(id) ?? 0, id)
              assert.deepStrictEqual(found, transaction, JSON.stringify(one))
            }
          }
          assert.deepStrictEqual(
            assigned,
            assigned.map((_, index) => index),
            "every nonce is assigned once, without a hole"
          )
          const { nextNonce } = noncesOf(Option.getOrThrow(yield* transactions.laneOf(accounts[0])).lane)
          assert.strictEqual(nextNonce, assigned.length)
          for (const [id, { attempts, place }] of model) {
            const hasBytes = attempts.some((attempt) => attempt.place.sequence === place?.sequence)
            assert.isTrue(place === undefined || hasBytes, `${id} has a nonce and no bytes`)
          }
        }),
      property(longCases[kind], { size: 60 })
    )
  })
