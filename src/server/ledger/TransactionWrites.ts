// Writes changes of transactions: their rows, their attempts, audit records, and the events about them, in the running SQL
// transaction.
import { Array, Effect } from "effect"
import { feeOf } from "../../networks/core/Queue.ts"
import type { Rules } from "../../networks/core/Rules.ts"
import { beginning, newestRequest } from "../../networks/core/Transaction.ts"
import type { Attempt, Transaction } from "../../networks/core/Transaction.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import { eventsOf } from "../../networks/core/Transition.ts"
import type { TransactionEventType } from "../../networks/core/Transition.ts"
import { Audit } from "../audit/Audit.ts"
import type { EncodedChange } from "../audit/Audit.ts"
import { Outbox } from "../outbox/Outbox.ts"
import { Events } from "../events/Events.ts"
import { currentOrigin, currentRequestId } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import { LedgerRules } from "./LedgerEntries.ts"
import type { Account, LedgerNetwork, StoredTransaction } from "./LedgerEntries.ts"
import type { Answered, SignedAttempt } from "./SignaturesRepo.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"
import type { Acceptance, Gate, Inserted } from "./TransactionsRepo.ts"

export interface TransactionEvent {
  readonly type: TransactionEventType
  /** After the change. */
  readonly stored: StoredTransaction
  /** Absent: the request that runs, if there is one. */
  readonly requestId?: string | null
}

/** JSON text of the transaction as the API shows it. */
export const textOf = ({ rules, shown }: LedgerNetwork, { transaction, ...identity }: StoredTransaction): string =>
  shown.text(rules.show(transaction, identity))

/** Events as they are stored. No-ops that fill gaps are internal: nothing is published about them. */
export const encodingEvents = Effect.gen(function* () {
  const networks = yield* LedgerRules

  return Effect.fnUntraced(function* (all: ReadonlyArray<TransactionEvent>) {
    const published = all.filter(({ stored }) => stored.transaction.origin === "request")
    const current = (yield* currentRequestId) ?? null
    return published.map(({ type, stored, requestId = current }) => ({
      type,
      id: stored.id,
      requestId,
      relayerId: stored.relayerId,
      relayerNumber: stored.transaction.relayerNumber,
      data: textOf(networks.of(stored.chain), stored)
    }))
  })
})

/** Publishes events in the SQL transaction of the change that they report. The rows of the transactions have to be held. */
export const publishing = Effect.gen(function* () {
  const events = yield* Events
  const encode = yield* encodingEvents
  const outbox = yield* Outbox

  return Effect.fn("Ledger.publish")(function* (all: ReadonlyArray<TransactionEvent>) {
    const encoded = yield* encode(all)
    if (encoded.length === 0) return
    const relayers = new Set(encoded.map(({ relayerNumber }) => relayerNumber))
    const { ids, read } = yield* events.emitReading(encoded, outbox.notificationsOf([...relayers]))
    yield* outbox.putTransactions(
      Array.zipWith(encoded, ids, ({ type, id, data, relayerNumber }, eventId) => ({
        eventId,
        type,
        id,
        data,
        relayerNumber
      })),
      read
    )
  })
})

type TransactionAction = "transaction.sent" | "transaction.replaced" | "transaction.canceled" | "transaction.published"
type NonceAction = "nonce.resynced" | "nonce.cleared" | "nonce.generation_begun"

/** A number, or a text of digits if a reader of JSON would lose some of them, as with those of stellar. */
export const sequenceOf = (sequence: bigint): number | string =>
  sequence <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(sequence) : String(sequence)

const auditedText = (rules: Rules, { id, relayerId, externalId, transaction }: StoredTransaction): string => {
  const { state: status, place, intent, attempts } = transaction
  const nonce = place?.sequence === undefined ? undefined : sequenceOf(place.sequence)
  const hash = attempts.at(-1)?.hash
  return JSON.stringify({
    id,
    relayer_id: relayerId,
    external_id: externalId,
    ...rules.auditedOf(newestRequest(transaction)),
    status,
    nonce,
    hash,
    route: transaction.route?.kind,
    is_canceled: intent === "cancel" || status === "canceled"
  })
}

/** Audit records of what callers did to transactions. Call data can be secret: it stays out of the audit log. */
export const auditing = Effect.gen(function* () {
  const networks = yield* LedgerRules

  /** `before` is absent if the transaction was accepted. */
  const changeOf = (
    action: TransactionAction,
    { before, after }: { readonly before?: StoredTransaction; readonly after: StoredTransaction },
    origin: Origin
  ): EncodedChange => {
    const { rules } = networks.of(after.chain)
    return {
      action,
      id: after.id,
      ...(before === undefined ? {} : { before: auditedText(rules, before) }),
      after: auditedText(rules, after),
      origin
    }
  }

  /** What a request that was accepted changes about the account of its relayer. Empty: nothing. */
  const accountChanges = (stored: StoredTransaction, origin: Origin): ReadonlyArray<EncodedChange> => {
    const { id, relayerId, chain, from: address, transaction } = stored
    const change = networks.of(chain).rules.accountChangeOf?.(newestRequest(transaction))
    if (change === undefined) return []
    const { action, delegate } = change
    const after = JSON.stringify({ id: relayerId, chain, address, delegate, transaction_id: id })
    return [{ action, id: relayerId, after, origin }]
  }

  return { changeOf, accountChanges }
})

/** Records an operator's command. `done` says what it did. */
export const auditingCommands = Effect.map(
  Audit,
  (audit) => (action: NonceAction, account: Account, done: Readonly<Record<string, unknown>>) =>
    Effect.flatMap(currentOrigin, (origin) => {
      const { relayerId, chain, address } = account
      const after = JSON.stringify({ relayer_id: relayerId, chain, address, ...done })
      return audit.recordMany([{ action, id: relayerId, after, origin }])
    })
)

export interface Change {
  /** As its row was read. */
  readonly before: StoredTransaction
  readonly after: Transaction
}

/** What the ledger has of a transaction that was accepted. */
export const newlyStored = (
  { account, transaction, origin, trace, now }: Acceptance,
  row: Pick<Inserted, "number" | "lane_id" | "generation">
): StoredTransaction => {
  const { id, request, validUntil, notBefore, requiredSequence, priority, route, externalId, fee } = transaction
  return {
    id,
    version: 1,
    laneId: row.lane_id,
    relayerId: account.relayerId,
    chain: account.chain,
    from: account.address,
    apiKeyId: origin.keyId,
    ...(origin.requestId === null ? {} : { requestId: origin.requestId }),
    ...(externalId === undefined ? {} : { externalId }),
    ...(trace === undefined ? {} : { trace }),
    ...(fee === undefined ? {} : { fee }),
    transaction: {
      ...beginning(
        {
          number: row.number,
          relayerNumber: account.relayerNumber,
          origin: "request",
          generation: row.generation,
          versions: [request],
          facts: transaction.facts,
          priority,
          validUntil
        },
        now
      ),
      ...(notBefore === undefined ? {} : { notBefore }),
      ...(requiredSequence === undefined ? {} : { requiredSequence }),
      ...(route === undefined ? {} : { route })
    }
  }
}

/** What the ledger has after a change. */
export const storedAfter = ({ before, after }: Change, now: Moment): StoredTransaction => ({
  ...before,
  version: before.version + 1,
  transaction: after,
  ...(before.fee === undefined ? {} : { fee: feeOf(after, before.fee) }),
  ...(after.state === "confirmed" && before.transaction.state !== "confirmed" ? { confirmedAt: now } : {})
})

/** What a change publishes. */
export const reportedBy = (change: Change, now: Moment): ReadonlyArray<TransactionEvent> => {
  const stored = storedAfter(change, now)
  return eventsOf(change.before.transaction, change.after).map((type) => ({ type, stored }))
}

/** Attempts that were there before, and whose answers or receipt changed. */
export const answeredIn = ({ before: { id, chain, transaction: before }, after }: Change): ReadonlyArray<Answered> => {
  const former = new Map(before.attempts.map((attempt) => [attempt.ordinal, attempt]))
  const minings = before.mined === after.mined ? [] : [before.mined?.ordinal, after.mined?.ordinal]
  const isChanged = (attempt: Attempt) =>
    former.has(attempt.ordinal) && (former.get(attempt.ordinal) !== attempt || minings.includes(attempt.ordinal))
  return after.attempts.filter(isChanged).map((attempt) => ({
    id,
    chain,
    attempt,
    receipt: after.mined?.ordinal === attempt.ordinal ? after.mined.receipt : undefined
  }))
}

export const make = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo.make
  const publish = yield* publishing

  /**
   * Writes and returns those whose rows are as they were read. The others were changed meanwhile, and are left as they are.
   * `signed`: their new attempts. Nothing is written if the ledger has one of the signatures already, or if the gate is closed.
   */
  const writeSigned = Effect.fn("Ledger.write")(function* (
    given: ReadonlyArray<Change>,
    now: Moment,
    signed: ReadonlyArray<SignedAttempt>,
    gate?: Gate
  ) {
    if (given.length === 0) return []
    const written = yield* transactions.update(
      given.map(({ before, after }) => ({ ...before, transaction: after })),
      { signed, answered: given.flatMap(answeredIn) },
      now,
      gate
    )
    const changes = given.filter(({ before }) => written.has(before.id))
    yield* publish(changes.flatMap((change) => reportedBy(change, now)))
    return changes.map((change) => storedAfter(change, now))
  })

  /** The same without new attempts. */
  const writeGated = (given: ReadonlyArray<Change>, now: Moment, gate: Gate | undefined) =>
    Effect.catchTag(writeSigned(given, now, [], gate), "SignatureTaken", Effect.die)

  /** The same in a SQL transaction that already has the locks. */
  const writeUnchanged = (given: ReadonlyArray<Change>, now: Moment) => Effect.orDie(writeSigned(given, now, []))

  /** The running transaction holds the rows. */
  const writeHeld = Effect.fnUntraced(function* (changes: ReadonlyArray<Change>, now: Moment) {
    const written = yield* writeUnchanged(changes, now)
    if (written.length === changes.length) return written
    return yield* Effect.die(new Error(`${written.length} of ${changes.length} held transactions had their version`))
  })

  return { writeSigned, writeGated, writeUnchanged, writeHeld }
})
