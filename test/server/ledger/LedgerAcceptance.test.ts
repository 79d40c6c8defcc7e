// Acceptance: all or none, once per `external_id`, within the limits, with its events and audit records.
import { assert } from "@effect/vitest"
import { Array, Context, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, newTransaction } from "../../../testkit/LedgerRows.ts"
import { contract } from "./Contract.ts"
import { claimOne, eventsOf, ledger, process, sentOf, signAll } from "./Fixtures.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"

const count = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly n: number }>`SELECT count(*)::int AS n FROM transactions`, ([row]) => row?.n)
)

/** Names the limit of a key on evm networks. */
const evm = (keyId: string) => ({ keyId, networkType: "evm" })

const pause = (relayer: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE relayers SET paused = true WHERE seq = ${relayer}::bigint`)

contract("the acceptance of a transaction", (it) => {
  it.effect("of many at once creates their lane once, and keeps the order of each relayer", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const accepted = yield* Effect.forEach(
        Array.range(1, 200),
        // Two of one relayer follow each other.
        (n) => transactions.accept(account((Math.floor(n / 2) % 2) + 1, 1), [newTransaction(0)]),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(accepted.map(([{ stored }]) => stored.laneId)).size, 1)
      assert.strictEqual(yield* transactions.countOpen(1), 100)
      const open = yield* transactions.cancelable(2)
      assert.deepStrictEqual(
        new Set(open.map(({ id }) => id)),
        new Set(accepted.flatMap(([{ stored }]) => (stored.transaction.relayerNumber === 2 ? [stored.id] : [])))
      )
      for (const relayer of [1, 2]) {
        const own = accepted.map(([{ stored }]) => stored.transaction).filter((one) => one.relayerNumber === relayer)
        const numbers = own.map(({ number }) => number)
        assert.deepStrictEqual(
          numbers,
          numbers.toSorted((one, other) => one - other)
        )
      }
    })
  )

  it.effect("is repeated by an external_id with the same body, and refused with another one", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const attempts = Array.makeBy(20, () => newTransaction(0, { externalId: "x", body: "same" }))
      const answers = yield* Effect.forEach(attempts, (one) => transactions.accept(account(1), [one]), {
        concurrency: 20
      })
      assert.strictEqual(new Set(answers.map(([{ stored }]) => stored.id)).size, 1)
      assert.lengthOf(
        answers.filter(([{ isNew }]) => isNew),
        1
      )
      const other = transactions.accept(account(1), [newTransaction(0, { externalId: "x", body: "other" })])
      assert.strictEqual((yield* Effect.flip(other))._tag, "TransactionConflict")
      const [elsewhere] = yield* transactions.accept(account(2), [
        newTransaction(0, { externalId: "x", body: "other" })
      ])
      assert.isTrue(elsewhere.isNew, "each relayer has its own identifiers")
    })
  )

  it.effect("of a batch is all or none", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* transactions.accept(account(1), [newTransaction(0, { externalId: "a", body: "first" })])
      const batch = transactions.accept(account(1), [
        newTransaction(0),
        newTransaction(0, { externalId: "a", body: "second" }),
        newTransaction(0)
      ])
      assert.strictEqual((yield* Effect.flip(batch))._tag, "TransactionConflict")
      assert.strictEqual(yield* transactions.count({}), 1)
      const accepted = yield* transactions.accept(account(1), [
        newTransaction(0),
        newTransaction(0, { externalId: "a", body: "first" }),
        newTransaction(0)
      ])
      assert.deepStrictEqual(
        accepted.map(({ isNew }) => isNew),
        [true, false, true]
      )
    })
  )

  it.effect("counts fees toward the limits of the network type of the lane, and of no other", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const solana = { keyId: "program", networkType: "solana" }
      const devnet = { ...account(2), chain: "solana:devnet", address: "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV" }
      const prebuilt = { request: { transaction: "AQ==" }, facts: { isPrebuilt: true, isRefreshable: false } }
      const lamports = [{ ...solana, maximum: 100n }]
      yield* transactions.accept(
        account(1),
        [newTransaction(0, { fee: 10n ** 18n })],
        [{ ...evm("program"), maximum: 10n ** 18n }]
      )
      yield* transactions.accept(devnet, [newTransaction(0, { ...prebuilt, fee: 60n })], lamports)
      assert.strictEqual(yield* transactions.feesOfLastDay(evm("program")), 10n ** 18n)
      assert.strictEqual(yield* transactions.feesOfLastDay(solana), 60n)
      const refused = yield* Effect.flip(
        transactions.accept(devnet, [newTransaction(0, { ...prebuilt, fee: 41n })], lamports)
      )
      assert.deepInclude(refused, { _tag: "FeeLimitExceeded", limit: 100n, used: 60n })
    })
  )

  it.effect("counts what an attempt can cost as soon as there is one", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* transactions.accept(account(1), [newTransaction(0, { fee: 1n })])
      const { hold } = yield* claimOne
      const [signed] = yield* signAll(hold)
      assert.strictEqual(yield* transactions.feesOfLastDay(evm("program")), 21_000n * 10_000_000_000n)
      const lanes = yield* LaneLedger
      const [sent] = signed === undefined ? [] : yield* lanes.recordSends(hold, [sentOf(signed, true)])
      assert.strictEqual(sent?.transaction.state, "submitted")
      assert.strictEqual(yield* transactions.feesOfLastDay(evm("program")), 21_000n * 10_000_000_000n)
    })
  )
})

layerEach(ledger)("the acceptance of a transaction", (it) => {
  it.effect("gives back what is read again, with an event, a delivery and an audit record", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      yield* sql`INSERT INTO notifications (id, type, url) VALUES ('n1', 'webhook', 'https://example.com')`
      yield* sql`UPDATE relayers SET notification_id = 'n1' WHERE seq = 1`
      const given = newTransaction(0, {
        externalId: "order-1",
        notBefore: 5,
        requiredSequence: 7n,
        priority: 1,
        fee: 12n
      })
      const [{ stored, isNew }] = yield* transactions.accept(account(1), [given])
      assert.isTrue(isNew)
      assert.deepStrictEqual(yield* transactions.get(1, stored.id), stored)
      assert.deepStrictEqual(yield* eventsOf(stored.id), ["transaction.created"])
      const [delivery] = yield* sql<{ lane: string; body: string }>`SELECT lane, body FROM deliveries`
      assert.strictEqual(delivery?.lane, stored.id)
      const body = JSON.parse(delivery?.body ?? "") as { event: string; payload: Record<string, unknown> }
      assert.strictEqual(body.event, "transaction_update")
      assert.deepInclude(body.payload, { payload_type: "transaction", id: stored.id, status: "pending" })
      const [record] = yield* sql<{ action: string; resource: string; after: unknown }>`
        SELECT action, resource, after FROM audit`
      assert.deepInclude(record, { action: "transaction.sent", resource: "transaction" })
      assert.strictEqual((yield* Effect.flip(transactions.get(2, stored.id)))._tag, "TransactionNotFound")
    })
  )

  it.effect("ends as an error if its row is never stored, and never found either", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      // A sequence counts what is rolled back, too.
      yield* sql`CREATE SEQUENCE tries`
      yield* sql`
        CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF nextval('tries') > 300 THEN RAISE EXCEPTION 'tried for ever'; END IF;
          RETURN NULL;
        END $$`
      yield* sql`CREATE TRIGGER swallow BEFORE INSERT ON transactions FOR EACH ROW EXECUTE FUNCTION swallow()`
      const exit = yield* Effect.exit(transactions.accept(account(1), [newTransaction(0)]))
      assert.isTrue(Exit.hasDies(exit))
      const [{ tries } = { tries: 0 }] = yield* sql<{ tries: number }>`SELECT last_value::int AS tries FROM tries`
      assert.isAbove(tries, 10, "a race is tried again")
      assert.isBelow(tries, 300)
      yield* sql`DROP TRIGGER swallow ON transactions`
      const [{ isNew }] = yield* transactions.accept(account(1), [newTransaction(0)])
      assert.isTrue(isNew)
      assert.strictEqual(yield* transactions.countOpen(1), 1)
    })
  )

  it.effect("is refused for a paused relayer, and for one that does not exist", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* pause(1)
      assert.strictEqual(
        (yield* Effect.flip(transactions.accept(account(1), [newTransaction(0)])))._tag,
        "RelayerPaused"
      )
      const missing = { ...account(1), relayerNumber: 99 }
      assert.strictEqual(
        (yield* Effect.flip(transactions.accept(missing, [newTransaction(0)])))._tag,
        "RelayerNotFound"
      )
      assert.strictEqual(yield* count, 0)
    })
  )

  it.effect("is refused beyond 10,000 open transactions of the relayer, and of it alone", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      yield* transactions.accept(account(1), [newTransaction(0)])
      yield* transactions.accept(account(2), [newTransaction(0)])
      yield* sql`
        INSERT INTO transactions (id, relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at)
        SELECT gen_random_uuid(), relayer_id, 3, lane_id, request, state, code_since, valid_until, created_at
        FROM transactions, generate_series(1, 9999) WHERE relayer_number = 1`
      yield* transactions.accept(account(3), [newTransaction(0)])
      const refused = yield* Effect.flip(transactions.accept(account(3), [newTransaction(0)]))
      assert.strictEqual(refused._tag, "TooManyRequests")
      yield* transactions.accept(account(2), [newTransaction(0)])
    })
  )

  for (const { what, before, after } of [
    { what: "within five seconds", before: 4000, after: "5 seconds" },
    { what: "within a second if more than half is used", before: 5000, after: "1 second" }
  ] as const) {
    it.effect(`is refused for what other instances have accepted, ${what}`, () =>
      Effect.gen(function* () {
        const transactions = yield* Ledger
        const sql = yield* SqlClient.SqlClient
        const fill = (count: number) => sql`
          INSERT INTO transactions (id, relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at)
          SELECT gen_random_uuid(), relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at
          FROM (SELECT * FROM transactions LIMIT 1) one, generate_series(1, ${count}::int)`
        yield* transactions.accept(account(1), [newTransaction(0)])
        yield* fill(before)
        yield* TestClock.adjust("5 seconds")
        yield* transactions.accept(account(1), [newTransaction(0)])
        yield* fill(10_000 - before)
        yield* TestClock.adjust(after)
        const refused = yield* Effect.flip(transactions.accept(account(1), [newTransaction(0)]))
        assert.strictEqual(refused._tag, "TooManyRequests")
      })
    )
  }

  /** Fills the relayer 1, which has one transaction, up to so many. */
  const fillTo = (open: number) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`
        INSERT INTO transactions (id, relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at)
        SELECT gen_random_uuid(), relayer_id, relayer_number, lane_id, request, state, code_since, valid_until, created_at
        FROM (SELECT * FROM transactions LIMIT 1) one, generate_series(2, ${open}::int)`
    )

  /** Sends so many at once. */
  const sending = (ledger: Ledger["Service"], count: number) =>
    Effect.forEach(Array.range(1, count), () => Effect.exit(ledger.accept(account(1), [newTransaction(0)])), {
      concurrency: "unbounded"
    })

  it.effect(
    "is refused beyond the limit by what is in flight, if two instances accept for the relayer at the same time",
    () =>
      Effect.gen(function* () {
        const here = yield* Ledger
        const there = Context.get(yield* process(), Ledger)
        const inFlight = 60
        yield* here.accept(account(1), [newTransaction(0)])
        yield* fillTo(8800)
        yield* there.accept(account(1), [newTransaction(0)])
        for (let round = 0; round < 12; round++)
          yield* Effect.all([sending(here, inFlight), sending(there, inFlight)], { concurrency: "unbounded" })
        const open = yield* here.countOpen(1)
        assert.isTrue(open >= 10_000 && open <= 10_000 + 2 * inFlight, `${open} are open`)
      })
  )

  /** In one request, so that nothing else is in flight. */
  const together = (ledger: Ledger["Service"], count: number) =>
    ledger.accept(
      account(1),
      Array.makeBy(count, () => newTransaction(0))
    )

  it.effect("is refused near the limit for what another instance has accepted just before", () =>
    Effect.gen(function* () {
      const here = yield* Ledger
      const there = Context.get(yield* process(), Ledger)
      yield* here.accept(account(1), [newTransaction(0)])
      yield* fillTo(9950)
      yield* TestClock.adjust("5 seconds")
      yield* together(here, 1)
      yield* together(there, 40)
      assert.strictEqual((yield* Effect.flip(together(here, 20)))._tag, "TooManyRequests")
      yield* together(here, 9)
      assert.strictEqual((yield* Effect.flip(together(there, 1)))._tag, "TooManyRequests")
      assert.strictEqual(yield* here.countOpen(1), 10_000)
    })
  )

  it.effect("is counted again after a hundred that an instance has accepted for the relayer", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      yield* transactions.accept(account(1), [newTransaction(0)])
      yield* fillTo(9890)
      yield* together(transactions, 90)
      assert.strictEqual((yield* Effect.flip(together(transactions, 90)))._tag, "TooManyRequests")
      yield* together(transactions, 20)
      assert.strictEqual((yield* Effect.flip(together(transactions, 1)))._tag, "TooManyRequests")
      assert.strictEqual(yield* transactions.countOpen(1), 10_000)
    })
  )

  it.effect("counts fees of open and final transactions toward the limits of the key and of its creators", () =>
    Effect.gen(function* () {
      const transactions = yield* Ledger
      const sql = yield* SqlClient.SqlClient
      const limits = [
        { ...evm("program"), maximum: 100n },
        { ...evm("creator"), maximum: 90n }
      ]
      yield* sql`INSERT INTO api_key_descendants (ancestor, id) VALUES ('creator', 'program')`
      const accept = (fee: bigint) => transactions.accept(account(1), [newTransaction(0, { fee })], limits)
      yield* accept(60n)
      const refused = yield* Effect.flip(accept(31n))
      assert.deepInclude(refused, { _tag: "FeeLimitExceeded", limit: 90n, used: 60n })
      yield* accept(30n)
      assert.strictEqual(yield* transactions.feesOfLastDay(evm("program")), 90n)
      assert.strictEqual(yield* transactions.feesOfLastDay(evm("other")), 0n)
    })
  )
})
