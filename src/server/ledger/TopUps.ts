// Top-ups in the ledger: which relayer gets them from which, the payments, and what they add up to in 24 hours.
import { Context, Effect, Layer, Schema } from "effect"
import type { HoldCode } from "../../domain/health/TopUpReport.ts"
import type { Network } from "../../domain/network/Network.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { Instant } from "../../domain/request/Shown.ts"
import type { LaneKey } from "../../networks/core/Rules.ts"
import { isFinal } from "../../networks/core/Transaction.ts"
import { outcomeOf } from "../../networks/core/TopUpDecision.ts"
import type { PaymentKind, TopUpOutcome } from "../../networks/core/TopUpDecision.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import * as Rows from "../../sql/Rows.ts"
import { client, exclusiveTurn, onConflict, query } from "../../sql/Transaction.ts"
import { LedgerRules } from "./LedgerEntries.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"

/** Hours for which payments count for the limits per day. */
const window = "24 hours"

/** How long the next payment waits after one that has paid nothing. Each one costs a fee, and what failed now fails again. */
const failurePause = "10 minutes"

/** How long ended payments are kept. The newest of each relayer stays: its number and its block are needed. */
const kept = "30 days"

/** Another relayer of the same account on the same chain gets top-ups. */
class AccountHasTopUp extends Schema.TaggedError<AccountHasTopUp>()("AccountHasTopUp", {}) {}

/** A relayer with its number and its account. */
export interface TopUpParty {
  readonly number: number
  readonly account: LaneKey
}

/** Why an account cannot get top-ups from the other one: another relayer of one of them has a part in top-ups already. */
export type TopUpLoop = "payer_gets" | "target_pays"

const State = Rows.withoutNulls(
  Schema.Struct({
    from_number: Schema.Int,
    /** Absent: the row of the payer is gone. */
    from_id: Schema.optionalKey(RelayerId),
    code: Schema.optionalKey(Schema.String),
    code_since: Schema.optionalKey(Instant),
    low_height: Schema.optionalKey(Schema.Int),
    /** 0: there was no payment yet. */
    sequence: Schema.Int,
    kind: Schema.optionalKey(Schema.Literals(["transfer", "create"])),
    transaction_id: Schema.optionalKey(TransactionId),
    is_open: Schema.Boolean,
    outcome: Schema.optionalKey(Schema.Literals(["paid", "none", "unknown"])),
    /** Whether the last payment has paid nothing, and its pause is not over. */
    has_failed: Schema.Boolean,
    /** Whether the tables were found to be a copy, so that the last 24 hours are not known. */
    is_restored: Schema.Boolean,
    /** The highest block of a payment of the present generation. */
    height: Schema.optionalKey(Schema.Int),
    used: Schema.BigIntFromString,
    used_of_payer: Schema.BigIntFromString,
    payer_has_restored: Schema.Boolean
  })
)
/** What the ledger has of the top-ups of a relayer. */
export type TopUpState = typeof State.Type

const readState = Rows.first(State)
const readOpen = Rows.all(Schema.Struct({ transaction_id: TransactionId }))
const readIds = Rows.all(Schema.Struct({ id: RelayerId }))
const readLoops = Rows.all(Schema.Struct({ loop: Schema.Literals(["payer_gets", "target_pays"]) }))
const readSequence = Rows.one(Schema.Struct({ sequence: Schema.Int }))
/** A relayer whose balance is low, and why it is not topped up. */
const HeldTopUp = Schema.Struct({ relayer_id: RelayerId, code: Schema.String, since: Instant })
export type HeldTopUp = typeof HeldTopUp.Type

const readHeld = Rows.all(HeldTopUp)

interface NewTopUp {
  readonly relayerNumber: number
  readonly fromNumber: number
  readonly sequence: number
  readonly transactionId: TransactionId
  readonly kind: PaymentKind
  /** In the smallest unit. */
  readonly amount: bigint
}

/** What a check leaves about a relayer. */
interface Noted {
  /** Absent: nothing keeps it from being topped up. */
  readonly code?: HoldCode | undefined
  /** The block at which the only provider has shown a low balance. Absent: none has. */
  readonly lowHeight?: number | undefined
}

/** An end of a payment. */
interface Ended {
  readonly outcome: TopUpOutcome
  readonly height?: number
  readonly generation?: number
}

const make = Effect.gen(function* () {
  const sql = yield* client
  const networks = yield* LedgerRules
  const transactions = yield* TransactionsRepo.make

  /** Undefined: the network type is not known. */
  const accountOf = (of: { readonly relayer: Relayer; readonly network: Network }): LaneKey | undefined => {
    const { rules } = networks.of(of.relayer.network_type)
    const target = rules.targetOf(of)
    return target === undefined ? undefined : rules.laneOf(target)
  }

  /**
   * One transaction at a time sets top-ups, until it ends: rules about accounts concern rows of several relayers. It is taken before any lock
   * of a row.
   */
  const lockSettings = sql`SELECT pg_advisory_xact_lock(hashtextextended('effect-relayer top-ups', 0))`.pipe(
    Effect.asVoid,
    query("TopUps.lockSettings")
  )

  /**
   * Waits for the turns of both rows, in the order of their numbers, and keeps them until the transaction ends: an acceptance, which the payment
   * is, waits for the turn of a row that a change waits for.
   */
  const takeTurns = (numbers: readonly [number, number]) =>
    Effect.forEach(
      numbers.toSorted((one, other) => one - other),
      (number) => sql`SELECT ${exclusiveTurn(sql, sql`${number}::bigint`)}`,
      { discard: true }
    ).pipe(query("TopUps.takeTurns"))

  /** Relayers that name this one as their payer, at most five. */
  const namedBy = (fromNumber: number) =>
    sql`
      SELECT r.id FROM relayer_top_ups t JOIN relayers r ON r.seq = t.relayer_number
      WHERE t.from_number = ${fromNumber}::bigint ORDER BY r.seq LIMIT 5`.pipe(
      Effect.flatMap(readIds),
      Effect.map((rows) => rows.map(({ id }) => id)),
      query("TopUps.namedBy")
    )

  /** What makes a chain of top-ups, also by other relayers of the same accounts. */
  const loops = (target: TopUpParty, payer: TopUpParty) =>
    sql`
      SELECT 'payer_gets' AS loop FROM relayer_top_ups t WHERE t.relayer_number <> ${target.number}::bigint
        AND t.chain = ${payer.account.chain} AND t.address = ${payer.account.address}
      UNION
      SELECT 'target_pays' FROM relayer_top_ups t WHERE t.relayer_number <> ${target.number}::bigint
        AND t.chain = ${target.account.chain} AND t.from_address = ${target.account.address}`.pipe(
      Effect.flatMap(readLoops),
      Effect.map((rows): ReadonlyArray<TopUpLoop> => rows.map(({ loop }) => loop)),
      query("TopUps.loops")
    )

  /** The caller has locked the settings, and both rows. */
  const set = (target: TopUpParty, payer: TopUpParty) =>
    sql`
      INSERT INTO relayer_top_ups AS t (relayer_number, from_number, chain, address, from_address)
      VALUES (${target.number}, ${payer.number}, ${target.account.chain}, ${target.account.address}, ${payer.account.address})
      ON CONFLICT (relayer_number) DO UPDATE SET from_number = excluded.from_number, from_address = excluded.from_address,
        code = NULL, code_since = NULL, low_height = NULL`.pipe(
      Effect.asVoid,
      onConflict("relayer_top_ups_address_key", () => new AccountHasTopUp({})),
      query("TopUps.set")
    )

  const unset = (relayerNumber: number) =>
    sql`DELETE FROM relayer_top_ups WHERE relayer_number = ${relayerNumber}::bigint`.pipe(
      Effect.asVoid,
      query("TopUps.unset")
    )

  /** The same for several relayers, by their ids. */
  const unsetAll = (ids: ReadonlyArray<string>) =>
    sql`
      DELETE FROM relayer_top_ups t USING relayers r
      WHERE r.seq = t.relayer_number AND r.id = ANY(${ids}::text[])`.pipe(Effect.asVoid, query("TopUps.unsetAll"))

  const counted = sql`t.outcome IS DISTINCT FROM 'none'
    AND (t.ended_at IS NULL OR t.ended_at > clock_timestamp() - ${window}::interval)`

  /** None: the relayer gets no top-ups. */
  const find = (relayerNumber: number) =>
    sql`
      SELECT s.from_number::float8 AS from_number, f.id AS from_id, s.code, to_json(s.code_since) #>> '{}' AS code_since,
        s.low_height::float8 AS low_height, coalesce(last.sequence, 0)::float8 AS sequence, last.kind, last.transaction_id,
        last.sequence IS NOT NULL AND last.ended_at IS NULL AS is_open, last.outcome,
        coalesce(last.outcome <> 'paid' AND last.ended_at > clock_timestamp() - ${failurePause}::interval, false) AS has_failed,
        EXISTS (SELECT FROM ledger_mark m WHERE m.restored_at > clock_timestamp() - ${window}::interval) AS is_restored,
        (SELECT max(t.height) FROM top_ups t WHERE t.relayer_number = s.relayer_number
          AND t.generation = (SELECT l.generation FROM lanes l WHERE l.chain = s.chain AND l.address = s.from_address)
        )::float8 AS height,
        (SELECT coalesce(sum(t.amount), 0) FROM top_ups t WHERE t.relayer_number = s.relayer_number AND ${counted})::text AS used,
        (SELECT coalesce(sum(t.amount), 0) FROM top_ups t WHERE t.from_number = s.from_number AND ${counted})::text
          AS used_of_payer,
        EXISTS (SELECT FROM transactions o WHERE o.relayer_number = s.from_number AND o.restored
          AND o.state IN ('pending', 'signed', 'submitted', 'mined')) AS payer_has_restored
      FROM relayer_top_ups s LEFT JOIN relayers f ON f.seq = s.from_number
      LEFT JOIN LATERAL (
        SELECT * FROM top_ups t WHERE t.relayer_number = s.relayer_number ORDER BY t.sequence DESC LIMIT 1
      ) last ON true
      WHERE s.relayer_number = ${relayerNumber}::bigint`.pipe(Effect.flatMap(readState), query("TopUps.find"))

  const end = (id: TransactionId, { outcome, height, generation }: Ended) =>
    sql`
      UPDATE top_ups SET ended_at = clock_timestamp(), outcome = ${outcome}, height = ${height ?? null}::bigint,
        generation = ${generation ?? null}::integer
      WHERE transaction_id = ${id} AND ended_at IS NULL`.pipe(Effect.asVoid, query("TopUps.end"))

  /**
   * Ends payments whose transactions are final: those for the relayer, and all of its payer, also for relayers that get none any more. What is
   * open counts for the limits, whatever its age.
   */
  const settle = Effect.fn("TopUps.settle")(function* (relayerNumber: number, fromNumber: number) {
    const open = yield* sql`
      SELECT t.transaction_id FROM top_ups t LEFT JOIN transactions o ON o.id = t.transaction_id
      WHERE t.ended_at IS NULL AND (t.relayer_number = ${relayerNumber}::bigint OR t.from_number = ${fromNumber}::bigint)
        AND (o.id IS NULL OR o.final_at IS NOT NULL)`.pipe(Effect.flatMap(readOpen), query("TopUps.ended"))
    if (open.length === 0) return
    const ids = open.map(({ transaction_id }) => transaction_id)
    const found = new Map((yield* transactions.find(ids)).map((stored) => [stored.id, stored.transaction]))
    for (const id of ids) {
      const transaction = found.get(id)
      // Its row is deleted: what it did is not known any more.
      if (transaction === undefined) yield* end(id, { outcome: "unknown" })
      else if (isFinal(transaction)) {
        const { mined, generation } = transaction
        const at = mined === undefined ? {} : { height: mined.receipt.height, generation }
        yield* end(id, { outcome: outcomeOf(transaction), ...at })
      }
    }
  })

  /** The sequence of the next payment for the relayer. */
  const next = (relayerNumber: number) =>
    sql`
      SELECT (coalesce(max(t.sequence), 0) + 1)::float8 AS sequence FROM top_ups t
      WHERE t.relayer_number = ${relayerNumber}::bigint`.pipe(
      Effect.flatMap(readSequence),
      Effect.map(({ sequence }) => sequence),
      query("TopUps.next")
    )

  /** The caller has locked the rows of both relayers. */
  const add = ({ relayerNumber, fromNumber, sequence, transactionId, kind, amount }: NewTopUp) =>
    sql`
      INSERT INTO top_ups (relayer_number, sequence, from_number, transaction_id, kind, amount)
      VALUES (${relayerNumber}, ${sequence}, ${fromNumber}, ${transactionId}, ${kind}, ${String(amount)}::numeric)`.pipe(
      Effect.asVoid,
      query("TopUps.add")
    )

  /** Whether the code is a new one. */
  const note = (relayerNumber: number, { code, lowHeight }: Noted) =>
    sql`
      WITH before AS (SELECT code FROM relayer_top_ups WHERE relayer_number = ${relayerNumber}::bigint FOR UPDATE)
      UPDATE relayer_top_ups t SET code = ${code ?? null}::text, low_height = ${lowHeight ?? null}::bigint,
        code_since = CASE WHEN ${code ?? null}::text IS NULL THEN NULL
          WHEN t.code IS NOT DISTINCT FROM ${code ?? null}::text THEN t.code_since ELSE clock_timestamp() END
      FROM before
      WHERE t.relayer_number = ${relayerNumber}::bigint AND (
        t.code IS DISTINCT FROM ${code ?? null}::text OR t.low_height IS DISTINCT FROM ${lowHeight ?? null}::bigint)
      RETURNING before.code IS DISTINCT FROM t.code AS changed`.pipe(
      Effect.flatMap(Rows.all(Schema.Struct({ changed: Schema.Boolean }))),
      Effect.map((rows) => rows.some(({ changed }) => changed)),
      query("TopUps.note")
    )

  /** Relayers whose balance is low and that are not topped up. `ids` undefined: of all. */
  const held = (ids: ReadonlyArray<string> | undefined, limit: number) =>
    sql`
      SELECT r.id AS relayer_id, t.code, to_json(t.code_since) #>> '{}' AS since
      FROM relayer_top_ups t JOIN relayers r ON r.seq = t.relayer_number
      WHERE t.code IS NOT NULL ${ids === undefined ? sql`` : sql`AND r.id = ANY(${ids}::text[])`}
      ORDER BY t.relayer_number LIMIT ${limit}`.pipe(Effect.flatMap(readHeld), query("TopUps.held"))

  /** Deletes at most `limit` old payments. Returns the number of deleted rows. */
  const prune = (limit: number) =>
    sql`
      DELETE FROM top_ups WHERE (relayer_number, sequence) IN (
        SELECT t.relayer_number, t.sequence FROM top_ups t
        WHERE t.ended_at < clock_timestamp() - ${kept}::interval
          AND (EXISTS (SELECT FROM top_ups o WHERE o.relayer_number = t.relayer_number AND o.sequence > t.sequence)
            OR NOT EXISTS (SELECT FROM relayers r WHERE r.seq = t.relayer_number))
        ORDER BY t.ended_at LIMIT ${limit}
      ) RETURNING 1`.pipe(
      Effect.map((rows) => rows.length),
      query("TopUps.prune")
    )

  return {
    accountOf,
    lockSettings,
    takeTurns,
    namedBy,
    loops,
    set,
    unset,
    unsetAll,
    find,
    settle,
    next,
    add,
    note,
    held,
    prune
  }
})

export class TopUps extends Context.Service<TopUps, Effect.Success<typeof make>>()(
  "effect-relayer/server/ledger/TopUps"
) {
  /** @internal */
  static readonly layer = Layer.effect(TopUps, make)
}
