// Transactions with the same bytes, and transactions that exclude each other: one of them is accepted. The network is a family of
// this test, whose requests say what their bytes are.
import { assert } from "@effect/vitest"
import { Array, Effect, Result, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import { finish } from "../../../src/networks/core/Rules.ts"
import type { Cancellation, Rules } from "../../../src/networks/core/Rules.ts"
import { rulesOfUnknown } from "../../../src/networks/core/UnknownNetwork.ts"
import type { Account, NewTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account as evmAccount, newTransaction } from "../../../testkit/LedgerRows.ts"
import { ledgersOf } from "./Contract.ts"
import { ledgerOf } from "./Fixtures.ts"

const Request = Schema.Struct({
  bytes: Schema.String,
  excludes: Schema.optionalKey(Schema.String),
  authorities: Schema.optionalKey(Schema.Array(Schema.String))
})
const isRequest = Schema.is(Request)

const canceled: Result.Result<Cancellation> = Result.succeed({ _tag: "finish" })

const rules: Rules = {
  ...rulesOfUnknown("paper"),
  identityOf: (request) => (isRequest(request) ? `paper:1 ${request.bytes}` : undefined),
  exclusiveOf: (request) => (isRequest(request) ? request.excludes : undefined),
  authoritiesOf: (request) => (isRequest(request) ? (request.authorities ?? []) : []),
  cancel: () => canceled,
  replaced: (transaction, request) => ({ ...transaction, versions: [...transaction.versions, request] })
}

const ledgers = ledgersOf(rules)

/** Relayers 1 and 2 have lanes of their own on one chain. */
const account = (relayer: number): Account => ({ ...evmAccount(relayer), chain: "paper:1" })

type Fields = Partial<NewTransaction> & { readonly excludes?: string }

const prepared = (bytes: string, { excludes, ...fields }: Fields = {}) => {
  const request = excludes === undefined ? { bytes } : { bytes, excludes }
  const [identity, exclusive] = [rules.identityOf(request, {}), rules.exclusiveOf(request, {})]
  return newTransaction(0, {
    request,
    ...(identity === undefined ? {} : { identity }),
    ...(exclusive === undefined ? {} : { exclusive }),
    ...fields
  })
}

const accept = Effect.fnUntraced(function* (relayer: number, ...bytes: Array.NonEmptyReadonlyArray<NewTransaction>) {
  const accepted = yield* (yield* Ledger).accept(account(relayer), bytes)
  return accepted[0].stored
})

const refusal = (relayer: number, ...bytes: Array.NonEmptyReadonlyArray<NewTransaction>) =>
  Effect.map(Effect.flip(accept(relayer, ...bytes)), ({ _tag, message }) => `${_tag} ${message}`)

for (const [kind, ledger] of ledgers) {
  layerEach(ledger)(`a transaction with the bytes of another one, ${kind},`, (it) => {
    it.effect("is refused, and the other one is named if it belongs to the same relayer", () =>
      Effect.gen(function* () {
        const { id } = yield* accept(1, prepared("a"))
        assert.strictEqual(
          yield* refusal(1, prepared("a")),
          `TransactionConflict already_accepted: transaction ${id} has the same bytes`
        )
        assert.strictEqual(
          yield* refusal(2, prepared("a")),
          "TransactionConflict already_accepted: a transaction of another relayer has the same bytes"
        )
        assert.strictEqual(
          yield* refusal(1, prepared("b"), prepared("b")),
          "TransactionConflict already_accepted: the request has the same bytes twice"
        )
        assert.include(yield* refusal(1, prepared("c"), prepared("a")), id)
        yield* accept(1, prepared("c"))
      })
    )

    it.effect("is the same transaction if it has the same external_id and body", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const { id } = yield* accept(1, prepared("a", { externalId: "one" }))
        const [again] = yield* ledger.accept(account(1), [prepared("a", { externalId: "one" })])
        assert.deepStrictEqual([again.stored.id, again.isNew], [id, false])
        assert.include(yield* refusal(1, prepared("a", { externalId: "two" })), `transaction ${id} has the same bytes`)
      })
    )

    it.effect("is accepted once if several arrive at the same time, also for several relayers", () =>
      Effect.gen(function* () {
        const results = yield* Effect.forEach(
          Array.makeBy(12, (index) => index),
          (index) => Effect.result(accept(1 + (index % 3), prepared("a"))),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(results.filter(Result.isSuccess), 1)
        assert.isTrue(results.filter(Result.isFailure).every(({ failure }) => failure._tag === "TransactionConflict"))
      })
    )

    it.effect("is accepted again after the other one has ended without effect, and not after it had one", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const lanes = yield* LaneLedger
        const first = yield* accept(1, prepared("a"))
        yield* ledger.cancel(1, first.id)
        const second = yield* accept(1, prepared("a"))
        const [held] = yield* lanes.claim(["paper"], 1)
        if (held === undefined) return assert.fail("the lane is not free")
        const { pending } = yield* lanes.read(held.hold)
        assert.deepStrictEqual(
          pending.map(({ id }) => id),
          [second.id]
        )
        const receipt = { height: 7, isSuccess: true, paid: 1n, details: { by: "somebody" } }
        const command = finish({ state: "confirmed", cause: cause("confirmed"), mined: { receipt } })
        yield* lanes.apply(held.hold, [{ stored: second, command }])
        assert.include(yield* refusal(1, prepared("a")), `transaction ${second.id} has the same bytes`)
      })
    )

    it.effect("cannot replace another request", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const first = yield* accept(1, prepared("a"))
        const second = yield* accept(1, prepared("b"))
        const replace = (bytes: string) => ledger.replace(1, second.id, { bytes })
        const { message } = yield* Effect.flip(replace("a"))
        assert.strictEqual(message, `already_accepted: transaction ${first.id} has the same bytes`)
        yield* replace("b")
        yield* replace("c")
        yield* accept(1, prepared("b"))
        assert.include(yield* refusal(2, prepared("c")), "already_accepted")
      })
    )
  })

  layerEach(ledger)(`an open transaction that excludes others of its lane, ${kind},`, (it) => {
    it.effect("is named in the refusal, and excludes nothing after its end", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const { id } = yield* accept(1, prepared("a", { excludes: "user:7" }))
        assert.strictEqual(
          yield* refusal(1, prepared("b", { excludes: "user:7" })),
          `TransactionConflict sequence_in_use: transaction ${id} uses the same sequence and is open`
        )
        assert.include(
          yield* refusal(1, prepared("b", { excludes: "user:8" }), prepared("c", { excludes: "user:8" })),
          "sequence_in_use: the request uses the same sequence twice"
        )
        yield* accept(2, prepared("b", { excludes: "user:7" }))
        yield* ledger.cancel(1, id)
        yield* accept(1, prepared("c", { excludes: "user:7" }))
      })
    )
  })

  layerEach(ledger)(`an open transaction with authorizations, ${kind},`, (it) => {
    const carrying = (bytes: string, ...authorities: ReadonlyArray<string>) =>
      newTransaction(0, { request: { bytes, authorities }, authorities })

    it.effect("keeps its accounts from all others of the chain until it is final", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const { id } = yield* accept(1, carrying("a", "0xaa", "0xbb"))
        assert.strictEqual(
          yield* refusal(1, carrying("b", "0xbb")),
          `TransactionConflict authorization_in_use: transaction ${id} has an authorization of the same account and is open`
        )
        assert.strictEqual(
          yield* refusal(2, carrying("b", "0xcc", "0xaa")),
          "TransactionConflict authorization_in_use: a transaction of another relayer has an authorization of the same account and is open"
        )
        assert.include(
          yield* refusal(1, carrying("b", "0xdd"), carrying("c", "0xdd")),
          "authorization_in_use: two transactions of the request have an authorization of the same account"
        )
        yield* accept(2, carrying("b", "0xcc"))
        yield* ledger.cancel(1, id)
        yield* accept(2, carrying("d", "0xaa"))
        yield* accept(1, carrying("e", "0xbb"))
        assert.include(yield* refusal(1, carrying("f", "0xaa")), "authorization_in_use")
      })
    )

    it.effect("keeps those of all of its versions, and can be replaced with its own", () =>
      Effect.gen(function* () {
        const ledger = yield* Ledger
        const one = yield* accept(1, carrying("a", "0xaa"))
        yield* accept(1, carrying("b", "0xbb"))
        const replace = (...authorities: ReadonlyArray<string>) =>
          ledger.replace(1, one.id, { bytes: "c", authorities })
        assert.include((yield* Effect.flip(replace("0xaa", "0xbb"))).message, "authorization_in_use")
        yield* replace("0xaa")
        yield* replace("0xcc")
        assert.include(yield* refusal(2, carrying("d", "0xaa")), "authorization_in_use")
        assert.include(yield* refusal(2, carrying("d", "0xcc")), "authorization_in_use")
      })
    )

    it.effect("is one of several that arrive at the same time, and the others of their relayers are accepted", () =>
      Effect.gen(function* () {
        const results = yield* Effect.forEach(
          Array.makeBy(12, (index) => index),
          (index) =>
            Effect.result(
              accept(1 + (index % 3), index % 2 === 0 ? carrying(`c${index}`, "0xaa", "0xbb") : prepared(`b${index}`))
            ),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(results.filter(Result.isSuccess), 7)
        assert.isTrue(results.filter(Result.isFailure).every(({ failure }) => failure._tag === "TransactionConflict"))
      })
    )
  })
}

layerEach(ledgerOf(rules))("a transaction with the bytes of another one", (it) => {
  it.effect("does not hold up others that arrive at the same time: they share SQL transactions", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const first = yield* accept(1, prepared("b0"))
      const results = yield* Effect.forEach(
        Array.makeBy(64, (index) => index),
        (index) => Effect.result(accept(1 + (index % 2), prepared(`b${index}`))),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(results.filter(Result.isFailure), 1)
      const [row] = yield* sql<{ readonly n: number }>`
        SELECT count(DISTINCT xmin::text)::int AS n FROM transactions WHERE id <> ${first.id}`
      assert.isAtMost(row?.n ?? Infinity, 8)
    })
  )

  it.effect("is accepted again in a new generation only if the other one did not stay pending", () =>
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const ended = yield* accept(1, prepared("a"))
      yield* sql`UPDATE transactions SET state = 'failed', final_at = now() WHERE id = ${ended.id}`
      assert.include(yield* refusal(1, prepared("a")), ended.id)
      const stays = yield* accept(1, prepared("b"))
      yield* ledger.beginGeneration(account(1))
      yield* accept(1, prepared("a"))
      assert.include(yield* refusal(1, prepared("b")), stays.id)
    })
  )
})
