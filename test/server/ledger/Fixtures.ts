// A ledger on a database with relayers, transactions of these relayers, and processes that hold lanes.
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Array, Deferred, Effect, Fiber, Layer, Option, Redacted } from "effect"
import type { Context, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { createHash, randomUUID } from "node:crypto"
import * as net from "node:net"
import { inject } from "vitest"
import { evmOf, tables } from "../../../testkit/EvmRows.ts"
import { LaneLedger } from "../../../src/server/ledger/LaneLedger.ts"
import { LedgerMemory } from "../../../src/server/ledger/memory/LedgerMemory.ts"
import { Ledger } from "../../../src/server/ledger/Ledger.ts"
import { cause } from "../../../src/networks/core/Cause.ts"
import type { Rules } from "../../../src/networks/core/Rules.ts"
import type { Attempt } from "../../../src/networks/core/Transaction.ts"
import type { TransactionId } from "../../../src/networks/core/TransactionValues.ts"
import { maxFeesOf } from "../../../src/networks/evm/rules/Costs.ts"
import type { Evm } from "../../../src/networks/evm/rules/Evm.ts"
import { evmRules, hear } from "../../../src/networks/evm/rules/EvmRules.ts"
import type { Fees } from "../../../src/networks/evm/rules/Market.ts"
import { solanaRules } from "../../../src/networks/solana/rules/SolanaRules.ts"
import { stellarRules } from "../../../src/networks/stellar/rules/StellarRules.ts"
import { ledgerTables } from "../../../src/server/ledger/Claims.ts"
import type { ClaimsRepo, LedgerTablesOptions } from "../../../src/server/ledger/Claims.ts"
import { Holder } from "../../../src/server/ledger/Holder.ts"
import type { LedgerMark } from "../../../src/server/ledger/Holder.ts"
import { LedgerRules } from "../../../src/server/ledger/LedgerEntries.ts"
import type { HeldLane, Hold, Signature, StoredTransaction } from "../../../src/server/ledger/LedgerEntries.ts"
import * as Lifecycle from "../../../src/server/lifecycle/Lifecycle.ts"
import { Audit } from "../../../src/server/audit/Audit.ts"
import { Outbox } from "../../../src/server/outbox/Outbox.ts"
import { Events } from "../../../src/server/events/Events.ts"
import { Secrets } from "../../../src/server/secrets/Secrets.ts"
import { addressOf } from "../../../src/sql/Connection.ts"
import { awaited } from "../../../testkit/Awaited.ts"
import * as LedgerRows from "../../../testkit/LedgerRows.ts"
import { clientConfig } from "../../../testkit/Postgres.ts"
import { masterKey } from "../../../testkit/TestApi.ts"
import * as TestDatabase from "../../../testkit/TestDatabase.ts"

const publishing = Layer.mergeAll(Events.layer, Outbox.layer, Audit.layer).pipe(
  Layer.provideMerge(Layer.merge(Lifecycle.layer, Secrets.layer({ current: Redacted.make(masterKey) })))
)

const relayerCount = 5

/** The mark of the master key, as a start of the service writes it: values that are sealed with it refer to it. */
const marked = Effect.flatMap(SqlClient.SqlClient, (sql) => {
  const keyId = createHash("sha256").update(masterKey).digest("hex").slice(0, 8)
  return sql`INSERT INTO master_key (sealed, key_id) VALUES (${`\\x03${keyId}`}::bytea, ${keyId})`
})

/** A database with relayers 1 to 5, and what publishes events. */
const database = Layer.provideMerge(
  publishing,
  Layer.provideMerge(
    Layer.effectDiscard(Effect.andThen(LedgerRows.insertRelayers(relayerCount), marked)),
    TestDatabase.layer
  )
)

const services = (options: LedgerTablesOptions) =>
  Layer.fresh(Layer.merge(Ledger.layerNoDeps, LaneLedger.layerNoDeps).pipe(Layer.provideMerge(tables(options))))

type Process = Ledger | LaneLedger | LedgerRules | LedgerMark | Holder | ClaimsRepo

/** A process with the ledger. It dies when the scope closes. */
export const process = (
  options: LedgerTablesOptions = {}
): Effect.Effect<Context.Context<Process>, never, Layer.Services<ReturnType<typeof services>> | Scope.Scope> =>
  Layer.build(services(options))

export const ledger = Layer.provideMerge(services({}), database)

/** A process with a pool of connections of its own. */
const processOn = <E>(client: Layer.Layer<SqlClient.SqlClient, E>) =>
  Layer.build(Layer.provideMerge(services({}), Layer.provideMerge(Layer.fresh(publishing), client)))

const memoryServices = Layer.fresh(
  Layer.merge(Ledger.layerMemory, LaneLedger.layerMemory).pipe(Layer.provideMerge(Holder.layerMemory))
)

/** A further process with the ledger in memory. It dies when the scope closes. */
export const memoryProcess = Layer.build(memoryServices)

/**
 * The ledger in memory. A database has a clock of its own, by which leases do not end while a test moves the test clock: these leases do
 * not end either.
 */
export const memoryOf = (...rules: ReadonlyArray<Rules>) =>
  memoryServices.pipe(
    Layer.provideMerge(LedgerMemory.layer({ lease: "1000 days" })),
    Layer.provideMerge(LedgerRules.layer(...rules))
  )

export const memory = memoryOf(evmRules, solanaRules, stellarRules)

/** The ledger on a database, with rules of a test. */
export const ledgerOf = (...rules: ReadonlyArray<Rules>) =>
  Layer.merge(Ledger.layerNoDeps, LaneLedger.layerNoDeps).pipe(
    Layer.provideMerge(ledgerTables()),
    Layer.provideMerge(LedgerRules.layer(...rules)),
    Layer.provideMerge(database)
  )

export const claimOne = Effect.flatMap(LaneLedger, (lanes) =>
  Effect.map(lanes.claim(["evm"], 1), ([held]): HeldLane => held ?? assert.fail("no lane is free"))
)

const gwei = 1_000_000_000n

/** What a test names of an attempt: its nonce and its offer stand beside the other fields. */
type AttemptFields = Partial<Attempt<Evm>> & { readonly fees?: Fees; readonly gasLimit?: bigint }

/** As the driver signs. */
export const signature = (
  stored: StoredTransaction,
  nonce: number,
  over: AttemptFields = {}
): Signature & { readonly attempt: Attempt<Evm> } => {
  const { attempts, generation } = stored.transaction
  const ordinal = attempts.length + 1
  const hash = `0x${randomUUID().replaceAll("-", "").padEnd(64, "0")}`
  const { fees, gasLimit = 21_000n, ...others } = over
  const offer = {
    fees: fees ?? { type: "eip1559" as const, maxFee: BigInt(ordinal) * 10n * gwei, tip: gwei },
    gasLimit
  }
  return {
    stored,
    raw: new TextEncoder().encode(`bytes of ${hash}`),
    cause: cause("sending"),
    attempt: {
      ordinal,
      kind: ordinal === 1 ? "original" : "bump",
      generation,
      requestVersion: stored.transaction.versions.length,
      hash,
      place: { account: stored.from, sequence: BigInt(nonce) },
      offer,
      maxFee: maxFeesOf(offer),
      signedAt: 0,
      sends: 0,
      outcome: "unknown",
      ...others
    }
  }
}

/** Signs all pending transactions of the lane, in the order in which they are read. */
export const signAll = Effect.fnUntraced(function* (hold: Hold) {
  const lanes = yield* LaneLedger
  const { stored, pending } = yield* lanes.read(hold)
  const signatures = pending.map((row, index) => signature(row, Number(stored.lane.accounts[0].nextSequence) + index))
  assert.isTrue(Array.isReadonlyArrayNonEmpty(signatures))
  return Array.isReadonlyArrayNonEmpty(signatures) ? yield* lanes.commitSignatures(hold, signatures) : []
})

/** The newest attempt, as a node answered. */
export const sentOf = (stored: StoredTransaction, isAccepted: boolean, now = 0) => {
  const newest = evmOf(stored).transaction.attempts.at(-1) ?? assert.fail("no attempt")
  const answers = isAccepted ? [{ _tag: "Hash" } as const] : [{ _tag: "NoAnswer" } as const]
  return { id: stored.id, sent: hear(evmOf(stored).transaction, newest, answers, { at: now, height: 100 }) }
}

/** The types of the events about a request, on a ledger in memory or on a database. */
export const eventsOf = Effect.fnUntraced(function* (id: TransactionId) {
  const memory = yield* Effect.serviceOption(LedgerMemory)
  if (Option.isSome(memory))
    return (yield* memory.value.events).filter((event) => event.id === id).map(({ type }) => type as string)
  const sql = Option.getOrThrow(yield* Effect.serviceOption(SqlClient.SqlClient))
  const rows = yield* sql<{ readonly type: string }>`SELECT type FROM events WHERE resource_id = ${id} ORDER BY id`
  return rows.map(({ type }) => type)
})

/** The actions in the audit log, in their order. */
export const actions = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly action: string }>`SELECT action FROM audit ORDER BY id`, (rows) =>
    rows.map(({ action }) => action)
  )
)

/** As if the leases of all lanes had passed. */
export const passLeases = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`UPDATE lanes SET held_until = now() - interval '1 second' WHERE holder IS NOT NULL`
)

// A statement of an acceptance that a test stops, and a process whose connections it cuts.

/**
 * A statement that accepts, or one that several lanes share, waits here for the lock 40, after it has taken its snapshot and before it locks any row. Other
 * statements pass.
 */
export const waitAfterSnapshot = (of: "INSERT" | "UPDATE" = "INSERT") =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.andThen(
      sql`
      CREATE FUNCTION wait_after_snapshot() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' OR current_query() LIKE '%held AS MATERIALIZED%' THEN PERFORM pg_advisory_xact_lock_shared(40); END IF;
        RETURN NULL;
      END $$`,
      sql`
      CREATE TRIGGER wait_after_snapshot BEFORE ${sql.literal(of)} ON transactions
      FOR EACH STATEMENT EXECUTE FUNCTION wait_after_snapshot()`
    )
  )

export const untilWaiting = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  awaited(
    sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    (rows) => rows.length > 0
  )
)

/** The attempts that are stored, and the statements of several lanes that wait for a lock, as soon as there are any of either. */
export const committedOrStuck = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    awaited(
      sql<{ readonly attempts: number; readonly stuck: number }>`
        SELECT (SELECT count(*) FROM attempts)::float8 AS attempts, (
          SELECT count(*) FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%held AS MATERIALIZED%'
        )::float8 AS stuck`,
      (rows) => rows.some(({ attempts, stuck }) => attempts > 0 || stuck > 0)
    ),
    ([found]) => found
  )
)

/** Holds what a statement locks until the result runs. */
export const locking = Effect.fnUntraced(function* <E, R>(lock: Effect.Effect<unknown, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const begun = yield* Deferred.make<void>()
  const ended = yield* Deferred.make<void>()
  const held = yield* Effect.forkScoped(
    sql.withTransaction(
      lock.pipe(Effect.andThen(Deferred.succeed(begun, undefined)), Effect.andThen(Deferred.await(ended)))
    )
  )
  yield* Deferred.await(begun)
  return Effect.andThen(Deferred.succeed(ended, undefined), Fiber.join(held))
})

/** Holds the lock 40 until the result runs. */
export const holding = Effect.flatMap(SqlClient.SqlClient, (sql) => locking(sql`SELECT pg_advisory_xact_lock(40)`))

/** What `write` gives, whose statement several lanes share, if `change` happens after the statement has taken its snapshot and before it locks any row. */
export const changedBeforeLocks = Effect.fnUntraced(function* <A, E, R, E2, R2>(
  write: Effect.Effect<A, E, R>,
  change: Effect.Effect<unknown, E2, R2>
) {
  yield* waitAfterSnapshot("UPDATE")
  const release = yield* holding
  const writing = yield* Effect.forkScoped(write)
  yield* untilWaiting
  yield* change
  yield* release
  return yield* Fiber.join(writing)
})

/** A process whose connections the test can cut. */
export const cuttable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [found] = yield* sql<{ readonly name: string }>`SELECT current_database() AS name`
  const config = clientConfig(inject("postgres"), found?.name ?? "")
  const sockets = new Set<net.Socket>()
  const client = PgClient.layer({
    ...config,
    // A statement after the cut gets a new connection, and none of those that were cut.
    maxConnections: 1,
    stream: () => {
      const socket = net.connect(addressOf(config))
      sockets.add(socket)
      return socket
    }
  })
  return { process: yield* processOn(client), cut: Effect.sync(() => sockets.forEach((socket) => socket.destroy())) }
})
