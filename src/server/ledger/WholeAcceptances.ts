// Acceptances that are stored whole by one statement: the transaction, its audit record, its event and the delivery of the event (ADR 0027).
import { Effect } from "effect"
import { rowState } from "../../sql/Rows.ts"
import { client, query } from "../../sql/Transaction.ts"
import { Audit, resourceText } from "../audit/Audit.ts"
import { Events } from "../events/Events.ts"
import { Outbox } from "../outbox/Outbox.ts"
import { LaneId, LedgerRules } from "./LedgerEntries.ts"
import * as Writing from "./TransactionWrites.ts"
import { makeInsertion, readInserted } from "./TransactionsRepo.ts"
import type { Acceptance } from "./TransactionsRepo.ts"

/** An acceptance with what is stored beside it. */
export interface WholeAcceptance {
  readonly acceptance: Acceptance
  /** The record in the audit log: the transaction as JSON text. */
  readonly record: string
  /** JSON text of the transaction as the API shows it. */
  readonly event: string
  /** Absent: the relayer has no notification. */
  readonly delivery?: { readonly id: string; readonly body: string }
}

/** Until the database gives them. No record, event or delivery shows them. */
const unnumbered: Parameters<typeof Writing.newlyStored>[1] = { number: 0, lane_id: LaneId.make(0), generation: 0 }

/** What one statement stores of an acceptance that no other transaction can conflict with. It is made in the fiber of its request. */
export const makeWhole = Effect.gen(function* () {
  const networks = yield* LedgerRules
  const outbox = yield* Outbox
  const { changeOf } = yield* Writing.auditing

  return Effect.fnUntraced(function* (acceptance: Acceptance) {
    const { account, origin } = acceptance
    const stored = Writing.newlyStored(acceptance, unnumbered)
    const event = Writing.textOf(networks.of(account.chain), stored)
    const whole: WholeAcceptance = {
      acceptance,
      record: resourceText(changeOf("transaction.sent", { after: stored }, origin)),
      event
    }
    if (account.notificationId === undefined) return whole
    return { ...whole, delivery: yield* outbox.deliveryOf({ type: "transaction.created", data: event }) }
  })
})

/** What one statement stores: rows, and UTF-16 code units of the texts that it writes of them. */
const maxStatement = { rows: 512, size: 4 * 2 ** 20 }

const sizeOf = ({ event, record, delivery }: WholeAcceptance): number =>
  2 * event.length + record.length + (delivery?.body.length ?? 0)

/** Those of one statement each, in their order. */
export const statementsOf = (wholes: ReadonlyArray<WholeAcceptance>) => {
  const statements: Array<Array<WholeAcceptance>> = []
  let last: Array<WholeAcceptance> = []
  let size = Number.POSITIVE_INFINITY
  for (const whole of wholes) {
    size += sizeOf(whole)
    if (last.length >= maxStatement.rows || size > maxStatement.size) {
      last = []
      size = sizeOf(whole)
      statements.push(last)
    }
    last.push(whole)
  }
  return statements
}

/** In one statement with their records, events and deliveries. */
export const makeWholeInsertion = Effect.gen(function* () {
  const sql = yield* client
  const { sendingOf, insertSending, rowOf, inserted } = yield* makeInsertion
  const audit = yield* Audit
  const events = yield* Events
  const outbox = yield* Outbox

  /**
   * Inserts those that no other transaction can conflict with, in their order, each with its audit record, its event and the delivery of the event. One
   * statement, which waits for no lock: each is stored whole or not at all. Left out are also those whose relayer is being changed, or has another notification
   * than the delivery is for, and those whose remembered terms are no longer the present ones. The notification is not locked: deliveries of a deleted one are
   * cleared. Networks are not locked either: one that changes while the statement runs has changed after it.
   */
  return (acceptances: ReadonlyArray<WholeAcceptance>) => {
    const rows = acceptances.map(({ acceptance, record, event, delivery }) => ({
      ...rowOf(acceptance),
      client_address: acceptance.origin.clientAddress,
      record,
      event,
      notification: acceptance.account.notificationId ?? null,
      delivery: delivery?.id ?? null,
      body: delivery?.body ?? null,
      terms: acceptance.account.terms?.relayer ?? null
    }))
    const origins = acceptances.flatMap(({ acceptance: { account } }, index) =>
      (account.terms?.networks ?? []).map(({ id, state = "" }) => ({ part: String(index + 1), id, state }))
    )
    return sql`
      WITH ${sendingOf(rows, false)},
      stale AS MATERIALIZED (
        SELECT part FROM unnest(${origins.map(({ part }) => part)}::bigint[], ${origins.map(({ id }) => id)}::text[],
          ${origins.map(({ state }) => state)}::text[]) AS origin (part, id, state)
        LEFT JOIN networks w ON w.id = origin.id WHERE coalesce(${rowState(sql, "w")}, '') <> origin.state
      ),
      inserted AS (
        ${insertSending(sql`sending.notified IS NOT DISTINCT FROM given.notification
          AND (given.terms IS NULL OR given.terms = sending.state) AND given.n NOT IN (SELECT part FROM stale)`)}
        RETURNING ${inserted}
      ),
      accepted AS (SELECT given.* FROM given JOIN inserted ON inserted.id = given.id::uuid),
      recorded AS (${audit.recording(sql`(
        SELECT n, api_key_id AS key_id, 'transaction.sent' AS action, 'transaction' AS resource, id AS resource_id, request_id, client_address,
          NULL AS before, record AS after FROM accepted
      ) given`)}),
      published AS (${events.publishing(sql`(
        SELECT n, 'transaction.created' AS type, id AS resource_id, request_id, relayer_id, event AS data FROM accepted
      ) given`)}),
      put AS (${outbox.putting(sql`(
        SELECT n, delivery AS id, notification AS notification_id, published.id AS event_id, accepted.id AS lane, 'transaction.created' AS event, body
        FROM accepted JOIN published ON published.resource_id = accepted.id WHERE delivery IS NOT NULL
      ) given`)})
      SELECT * FROM inserted`.pipe(Effect.flatMap(readInserted), query("NewTransactionsRepo.insertWhole"))
  }
})
