// Acceptances that one statement stores with their records: whole or not at all, by the relayer as it is when it is locked, and once.
import { assert, describe, it } from "@effect/vitest"
import { Array, Effect, Exit, Fiber, Metric } from "effect"
import { SqlClient } from "effect/sql"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import type { Account, NewTransaction, RememberedTerms } from "../../../src/server/ledger/LedgerEntries.ts"
import { statementsOf } from "../../../src/server/ledger/WholeAcceptances.ts"
import { CommitSignals } from "../../../src/server/lifecycle/Lifecycle.ts"
import { rowState } from "../../../src/sql/Rows.ts"
import * as Transaction from "../../../src/sql/Transaction.ts"
import { isUnavailable } from "../../../src/sql/Transaction.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import { layerEach } from "../../../testkit/layerEach.ts"
import { account, newTransaction } from "../../../testkit/LedgerRows.ts"
import { Holder } from "../../../src/server/ledger/Holder.ts"
import { cuttable, holding, ledger, untilWaiting, waitAfterSnapshot } from "./Fixtures.ts"

const stellarAddress = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
const solanaAddress = "7EcDhSYGxXyscszYEp35KHN8vvw3svAuLKTzXwCFLtV"

/** Relayer 1 on each network, with a request that no other transaction conflicts with. */
const requests: ReadonlyArray<{ readonly of: Account; readonly over: Partial<NewTransaction> }> = [
  { of: account(1), over: {} },
  {
    of: { ...account(1), chain: "solana:devnet", address: solanaAddress },
    over: { request: { transaction: "AQ==" }, facts: { isPrebuilt: true, isRefreshable: false } }
  },
  {
    of: { ...account(1), chain: "stellar:local", address: stellarAddress },
    over: {
      request: { operations: [{ type: "payment", destination: stellarAddress, amount: 1n, asset: { type: "native" } }] }
    }
  }
]

const notified = (number: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`INSERT INTO notifications (id, type, url) VALUES ('n1', 'webhook', 'https://example.com') ON CONFLICT DO NOTHING`,
      sql`UPDATE relayers SET notification_id = 'n1' WHERE seq = ${number}`
    )
  )

/** What is stored of a transaction beside its row, without what differs between two of them. */
const besides = Effect.fnUntraced(function* (id: TransactionId) {
  const sql = yield* SqlClient.SqlClient
  const records = yield* sql`
    SELECT key_id, action, resource, request_id, client_address, before::text AS before, replace(after::text, ${id}, 'id') AS after
    FROM audit WHERE resource_id = ${id}`
  const events = yield* sql`
    SELECT type, request_id, relayer_id, replace(data::text, ${id}, 'id') AS data FROM events WHERE resource_id = ${id}`
  const deliveries = yield* sql<{ readonly body: string; readonly id: string }>`
    SELECT d.id, n.id AS notification, d.event, replace(d.body, ${id}, 'id') AS body, e.resource_id = ${id} AS is_of_event
    FROM deliveries d JOIN notifications n ON n.seq = d.notification_seq JOIN events e ON e.id = d.event_id WHERE d.lane = ${id}`
  return {
    records,
    events,
    deliveries: deliveries.map(({ id: own, body, ...delivery }) => ({ ...delivery, body: body.replaceAll(own, "own") }))
  }
})

/** How many rows a transaction has in each table. */
const countsOf = Effect.fnUntraced(function* (id: TransactionId) {
  const sql = yield* SqlClient.SqlClient
  const { records, events, deliveries } = yield* besides(id)
  const rows = yield* sql`SELECT FROM transactions WHERE id = ${id}::uuid`
  return [rows.length, records.length, events.length, deliveries.length]
})

/** Runs `meanwhile` between the snapshot and the locks of the statement that `accepting` sends first. */
const between = Effect.fnUntraced(function* <A, E, E2, R2>(
  accepting: Effect.Effect<A, E>,
  meanwhile: Effect.Effect<unknown, E2, R2>
) {
  const release = yield* holding
  const fiber = yield* Effect.forkScoped(accepting)
  yield* untilWaiting
  yield* meanwhile
  yield* release
  return yield* Fiber.join(fiber)
})

layerEach(ledger)("an acceptance in one statement", (it) => {
  it.effect("stores what an acceptance in a transaction stores, on each network", () =>
    Effect.gen(function* () {
      const { accept, get } = yield* Ledger
      yield* notified(1)
      for (const { of, over } of requests) {
        const [networkType = ""] = of.chain.split(":")
        // A limit of fees is only checked in a transaction.
        const limits = [{ keyId: "key", networkType, maximum: 10n ** 30n }]
        const [alone] = yield* accept(of, [newTransaction(0, over)], limits)
        const [whole] = yield* accept({ ...of, notificationId: "n1" }, [newTransaction(0, over)])
        assert.deepStrictEqual(yield* besides(whole.stored.id), yield* besides(alone.stored.id))
        assert.deepStrictEqual(yield* countsOf(whole.stored.id), [1, 1, 1, 1])
        assert.deepStrictEqual(yield* get(1, whole.stored.id), whole.stored)
      }
    })
  )

  it.effect("is known to a lane of its process as its row says, on each network, without a read of the row", () =>
    Effect.gen(function* () {
      const { accept, get } = yield* Ledger
      const lanes = yield* LaneLedger
      const finds = Effect.map(Metric.snapshot, (all) =>
        all.find((one) => one.attributes?.["query"] === "TransactionsRepo.find" && one.type === "Histogram")
      )
      for (const { of, over } of requests) {
        yield* accept(of, [newTransaction(0, over)])
        const [held] = yield* lanes.claim([of.chain.split(":")[0] ?? ""], 1)
        if (held === undefined) return assert.fail("the lane is not free")
        yield* lanes.read(held.hold)
        const [{ stored }] = yield* accept(of, [newTransaction(0, over)])
        const before = yield* finds
        const { pending } = yield* lanes.read(held.hold)
        assert.deepStrictEqual(yield* finds, before)
        assert.deepStrictEqual(pending[1], yield* get(1, stored.id))
      }
    })
  )

  it.effect("is one transaction of the database", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      yield* notified(1)
      const [{ stored }] = yield* accept({ ...account(1), notificationId: "n1" }, [newTransaction(0)])
      const found = yield* sql<{ readonly count: number }>`
        SELECT count(DISTINCT x)::int AS count FROM (
          SELECT xmin::text AS x FROM transactions WHERE id = ${stored.id}::uuid
          UNION ALL SELECT xmin::text AS x FROM audit WHERE resource_id = ${stored.id} AND hash IS NULL
          UNION ALL SELECT xmin::text AS x FROM events WHERE resource_id = ${stored.id}
          UNION ALL SELECT xmin::text AS x FROM deliveries WHERE lane = ${stored.id}
        ) rows`
      assert.deepStrictEqual(found, [{ count: 1 }])
    })
  )

  it.effect("is refused if its relayer is paused between the snapshot and the lock", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      yield* accept(account(1), [newTransaction(0)])
      yield* waitAfterSnapshot()
      const one = newTransaction(0)
      const accepting = Effect.flip(accept(account(1), [one]))
      const refused = yield* between(accepting, sql`UPDATE relayers SET paused = true WHERE seq = 1`)
      assert.strictEqual(refused._tag, "RelayerPaused")
      assert.deepStrictEqual(yield* countsOf(one.id), [0, 0, 0, 0])
    })
  )

  it.effect("is refused if its relayer is deleted between the snapshot and the lock", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      yield* accept(account(1), [newTransaction(0)])
      yield* waitAfterSnapshot()
      const one = newTransaction(0)
      const refused = yield* between(Effect.flip(accept(account(1), [one])), sql`DELETE FROM relayers WHERE seq = 1`)
      assert.strictEqual(refused._tag, "RelayerNotFound")
      assert.deepStrictEqual(yield* countsOf(one.id), [0, 0, 0, 0])
    })
  )

  it.effect("has a delivery if its relayer gets a notification between the snapshot and the lock", () =>
    Effect.gen(function* () {
      const { accept } = yield* Ledger
      yield* accept(account(1), [newTransaction(0)])
      yield* waitAfterSnapshot()
      const [{ stored }] = yield* between(accept(account(1), [newTransaction(0)]), notified(1))
      assert.deepStrictEqual(yield* countsOf(stored.id), [1, 1, 1, 1])
    })
  )

  it.effect("has no delivery if its relayer loses its notification between the snapshot and the lock", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      yield* notified(1)
      const of = { ...account(1), notificationId: "n1" }
      yield* accept(of, [newTransaction(0)])
      yield* waitAfterSnapshot()
      const removing = sql`UPDATE relayers SET notification_id = NULL WHERE seq = 1`
      const [{ stored }] = yield* between(accept(of, [newTransaction(0)]), removing)
      assert.deepStrictEqual(yield* countsOf(stored.id), [1, 1, 1, 0])
    })
  )

  it.effect("that the server refuses is refused alone, and the others of its batch are accepted", () =>
    Effect.gen(function* () {
      const { accept } = yield* Ledger
      const tooLarge = newTransaction(0, { requiredSequence: 2n ** 70n })
      const others = Array.makeBy(20, () => newTransaction(0))
      const exits = yield* Effect.forEach(
        [...others.slice(0, 10), tooLarge, ...others.slice(10)],
        (one) => Effect.exit(accept(account(1), [one])),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        exits.map((exit) => Exit.isSuccess(exit)),
        [...others.slice(0, 10).map(() => true), false, ...others.slice(10).map(() => true)]
      )
      for (const { id } of others) assert.deepStrictEqual(yield* countsOf(id), [1, 1, 1, 0])
      assert.deepStrictEqual(yield* countsOf(tooLarge.id), [0, 0, 0, 0])
      yield* accept(account(1), [newTransaction(0)])
    })
  )

  it.effect("that the server refuses does not end the transaction of its caller", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      const [{ stored }] = yield* sql.withTransaction(
        Effect.andThen(
          Effect.exit(accept(account(1), [newTransaction(0, { requiredSequence: 2n ** 70n })])),
          accept(account(1), [newTransaction(0)])
        )
      )
      assert.deepStrictEqual(yield* countsOf(stored.id), [1, 1, 1, 0])
    })
  )

  it.effect("in the transaction of a caller wakes jobs and lanes after its commit, and none if it is rolled back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      const { listen } = yield* Holder
      const signal = (yield* CommitSignals).get("deliveries")
      yield* notified(1)
      const of = { ...account(1), notificationId: "n1" }
      const heard: Array<number> = []
      yield* listen((rows) => Effect.sync(() => heard.push(...rows.map(({ number }) => number))))
      const woken = yield* Effect.forkScoped(signal.wait())
      const rolledBack = yield* Effect.exit(
        sql.withTransaction(Effect.andThen(accept(of, [newTransaction(0)]), Effect.fail("rolled back")))
      )
      assert.isTrue(Exit.isFailure(rolledBack))
      assert.deepStrictEqual([heard, woken.pollUnsafe()], [[], undefined])
      const during = yield* sql.withTransaction(
        Effect.map(accept(of, [newTransaction(0)]), ([{ stored }]) => ({
          number: stored.transaction.number,
          heard: [...heard]
        }))
      )
      assert.deepStrictEqual([during.heard, heard], [[], [during.number]])
      yield* Fiber.join(woken)
    })
  )
})

/** Terms of relayer 1 that were read now. Its network has no row. */
const present = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly state: string }>`
    SELECT ${rowState(sql, "r")} AS state FROM relayers r WHERE r.seq = 1`
  return { relayer: row?.state ?? "", networks: [{ id: "evm:sepolia" }] }
})

layerEach(ledger)("an acceptance by remembered terms", (it) => {
  it.effect("is left to fresh ones if its relayer changes between the snapshot and the lock", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      const of = { ...account(1), terms: yield* present }
      yield* accept(of, [newTransaction(0)])
      yield* waitAfterSnapshot()
      const one = newTransaction(0)
      const refused = yield* between(
        Effect.flip(accept(of, [one])),
        sql`UPDATE relayers SET name = 'other' WHERE seq = 1`
      )
      assert.strictEqual(refused._tag, "TermsForgotten")
      assert.deepStrictEqual(yield* countsOf(one.id), [0, 0, 0, 0])
      yield* accept({ ...of, terms: yield* present }, [one])
    })
  )

  it.effect("is left to fresh ones if its network has its first row, or no row any more", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      const terms = yield* present
      const acceptBy = (networks: RememberedTerms["networks"]) =>
        accept({ ...account(1), terms: { ...terms, networks } }, [newTransaction(0)])
      yield* acceptBy(terms.networks)
      yield* sql`INSERT INTO networks (id, definition) VALUES ('evm:sepolia', '{}')`
      assert.strictEqual((yield* Effect.flip(acceptBy(terms.networks)))._tag, "TermsForgotten")
      const [row] = yield* sql<{ readonly state: string }>`SELECT ${rowState(sql, "w")} AS state FROM networks w`
      const own = [{ id: "evm:sepolia", state: row?.state ?? "" }]
      yield* acceptBy(own)
      yield* sql`UPDATE networks SET definition = definition`
      assert.strictEqual((yield* Effect.flip(acceptBy(own)))._tag, "TermsForgotten")
      yield* sql`DELETE FROM networks`
      assert.strictEqual((yield* Effect.flip(acceptBy(own)))._tag, "TermsForgotten")
      yield* acceptBy(terms.networks)
    })
  )

  it.effect("is left to fresh ones if it is paused, waits for a change, or has to be compared with others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      const of = { ...account(1), terms: yield* present }
      const forgotten = (...given: Parameters<typeof accept>) =>
        Effect.map(Effect.flip(accept(...given)), ({ _tag }) => assert.strictEqual(_tag, "TermsForgotten"))
      yield* forgotten(of, [newTransaction(0, { externalId: "x" })])
      yield* forgotten(of, [newTransaction(0), newTransaction(0)])
      yield* forgotten(of, [newTransaction(0)], [{ keyId: "key", networkType: "evm", maximum: 1n }])
      const changing = sql`SELECT FROM relayers WHERE seq = 1 FOR UPDATE`
      yield* sql.withTransaction(
        Effect.andThen(
          changing,
          Effect.flatMap(Transaction.apart, (apart) => apart(forgotten(of, [newTransaction(0)])))
        )
      )
      yield* sql`UPDATE relayers SET paused = true WHERE seq = 1`
      yield* forgotten({ ...of, terms: yield* present }, [newTransaction(0)])
    })
  )

  it.effect("in a batch with others leaves out only those whose terms have changed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accept } = yield* Ledger
      const of = { ...account(1), terms: yield* present }
      yield* sql`INSERT INTO networks (id, definition) VALUES ('evm:sepolia', '{}')`
      const changed = Array.makeBy(20, (n) => n % 3 === 0)
      const exits = yield* Effect.forEach(
        changed,
        (isChanged) => Effect.exit(accept(isChanged ? of : account(1), [newTransaction(0)])),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        exits.map((exit) => Exit.isFailure(exit)),
        changed
      )
    })
  )
})

layerEach(ledger)("an acceptance whose connection is cut before the answer", (it) => {
  it.effect("is not tried alone: its caller gets an error, and the transaction is stored once, whole", () =>
    Effect.gen(function* () {
      const { process, cut } = yield* cuttable
      const accepting = (one: NewTransaction) =>
        Effect.flatMap(Ledger, ({ accept }) => accept(account(1), [one])).pipe(Effect.provide(process), Effect.exit)
      assert.isTrue(Exit.isSuccess(yield* accepting(newTransaction(0))))
      yield* waitAfterSnapshot()
      const one = newTransaction(0)
      const release = yield* holding
      const fiber = yield* Effect.forkScoped(accepting(one))
      yield* untilWaiting
      yield* cut
      // The server goes on: it does not notice before it answers. A second try would have a new connection, and succeed.
      yield* release
      const exit = yield* Fiber.join(fiber)
      assert.isTrue(Exit.hasDies(exit))
      assert.isTrue(
        Exit.isFailure(exit) &&
          exit.cause.reasons.some((reason) => reason._tag === "Die" && isUnavailable(reason.defect))
      )
      yield* awaited(countsOf(one.id), ([rows]) => rows === 1)
      // Counted again, because its commit may come between the parts of a count.
      assert.deepStrictEqual(yield* countsOf(one.id), [1, 1, 1, 0])
    })
  )
})

describe("the statements of a batch", () => {
  const whole = (size: number) => ({
    acceptance: {
      account: account(1),
      transaction: newTransaction(0),
      bodyHash: "hash",
      origin: { keyId: "key", requestId: null, clientAddress: null },
      trace: undefined,
      now: 0
    },
    record: "",
    event: "e".repeat(size)
  })

  it("have 512 rows at most, in their order", () => {
    const batch = Array.makeBy(1025, () => whole(1))
    const statements = statementsOf(batch)
    assert.deepStrictEqual(
      statements.map(({ length }) => length),
      [512, 512, 1]
    )
    assert.deepStrictEqual(statements.flat(), batch)
  })

  it("have 4 MiB at most, and one row at least", () => {
    const large = 2 ** 20
    assert.deepStrictEqual(
      statementsOf([whole(large), whole(large), whole(large), whole(3 * large), whole(1)]).map(({ length }) => length),
      [2, 1, 1, 1]
    )
    assert.deepStrictEqual(statementsOf([]), [])
  })
})
