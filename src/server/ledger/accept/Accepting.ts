// Accepts transactions. Those that arrive while two batches are written form the next batches (ADR 0010, 0017).
import { Array, Clock, Context, Data, Effect, Option, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { TransactionConflict } from "../../../domain/transaction/Cancellation.ts"
import type { Moment } from "../../../domain/transaction/Moment.ts"
import { present } from "../../../domain/transaction/Presentation.ts"
import type { TransactionId } from "../../../domain/transaction/TransactionId.ts"
import { RelayerPaused } from "../../../domain/transaction/AcceptanceErrors.ts"
import * as Batcher from "../../../sql/batch/Batcher.ts"
import { isTraced } from "../../../sql/batch/Batcher.ts"
import { RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import { isUnavailable } from "../../../sql/Query.ts"
import * as Transaction from "../../../sql/Transaction.ts"
import { retryDeadlock } from "../../../sql/Transaction.ts"
import { currentOrigin } from "../../responses/CurrentRequest.ts"
import * as Identities from "./Identities.ts"
import * as Inserting from "./Inserting.ts"
import type { Accepted, Account, FeeLimit, NamedBody, NewTransaction } from "../NewTransaction.ts"
import * as NewTransactionsRepo from "./NewTransactionsRepo.ts"
import type { Acceptance } from "./NewTransactionsRepo.ts"
import * as LanesRepo from "../hold/LanesRepo.ts"
import * as TakingOver from "./TakingOver.ts"
import * as OpenCounts from "./OpenCounts.ts"
import * as FeeLimits from "./FeeLimits.ts"
import * as RelayerTransactionsRepo from "../read/RelayerTransactionsRepo.ts"
import type { Named } from "../read/RelayerTransactionsRepo.ts"
import * as TransactionsRepo from "../write/TransactionsRepo.ts"
import type { StoredTransaction } from "../StoredTransaction.ts"

/** Batches written at the same time. A relayer is in one group, so that its transactions get numbers in order of arrival. */
const groups = 2

/** A batch that waits for a lock longer than this does not hold up the next one. */
const patience = "100 millis"

/** Another request committed the same `external_id`, `identity` or `exclusive` between the lookup and the insertion: the next lookup finds it. */
class Raced extends Data.TaggedError("Raced") {}

/** `traceparent` of the running request. Undefined: no spans are exported. */
export const currentTrace = Effect.contextWith((context: Context.Context<never>) => {
  const span = isTraced(context) ? Context.getOrUndefined(context, Tracer.ParentSpan) : undefined
  return Effect.succeed(
    span === undefined ? undefined : `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`
  )
})

/** Its sequences are given away by the lane that it belongs to. */
export const isChannel = new TransactionConflict({
  error: "the account of the relayer is a channel account of another relayer; use an account of its own"
})

export const hashOf = (body: string): string => createHash("sha256").update(body).digest("hex")

/** Equal bytes are not looked up: an acceptance has to exclude them anyway. */
const externalOf = ({ bodyHash, transaction }: Acceptance): Named => ({
  bodyHash,
  ...present("externalId", transaction.externalId)
})

export const otherBody = (id: TransactionId) =>
  new TransactionConflict({ error: `external_id: was used with another body, by transaction ${id}` })

const usedTwice = new TransactionConflict({ error: "external_id: is used twice in this request" })

/** Two new transactions of one request cannot have the same one. */
export const checkDistinct = (added: ReadonlyArray<Pick<Acceptance, "transaction">>) => {
  const ids = added.flatMap(({ transaction: { externalId } }) => externalId ?? [])
  return new Set(ids).size === ids.length ? Effect.void : usedTwice
}

/** What can prevent an acceptance: an `external_id` that was used before, and limits of fees. */
const makeAdmitting = Effect.gen(function* () {
  const transactions = yield* TransactionsRepo.make
  const relayers = yield* RelayerTransactionsRepo.make
  const { spend } = yield* FeeLimits.make

  const checkFees = (added: ReadonlyArray<NewTransaction>, limits: ReadonlyArray<FeeLimit>, now: Moment) => {
    const more = added.reduce((sum, { fee = 0n }) => sum + fee, 0n)
    return spend(
      limits.map((limit) => ({ ...limit, more })),
      now
    )
  }

  /**
   * Transactions of the relayer that were accepted before: with the same `external_id`, or with the same bytes, and the same body. In
   * the order of what is asked; undefined: there is none. Fails if it had another body.
   */
  const formerOf = Effect.fnUntraced(function* (account: Account, asked: ReadonlyArray<Named>) {
    const found = yield* relayers.named(account, asked)
    const external = new Map(found.map((one) => [one.externalId, one]))
    const identical = new Map(found.map((one) => [one.identity, one]))
    const ids: Array<TransactionId | undefined> = []
    for (const { bodyHash, externalId, identity } of asked) {
      const named = externalId === undefined ? undefined : external.get(externalId)
      if (named !== undefined && named.bodyHash !== bodyHash) return yield* otherBody(named.id)
      const same = named ?? (identity === undefined ? undefined : identical.get(identity))
      if (same !== undefined && same.bodyHash !== bodyHash) return yield* Identities.sameBytes(same.id)
      ids.push(same?.id)
    }
    const rows = yield* transactions.find(ids.filter((id) => id !== undefined))
    const byId = new Map(rows.map((row) => [row.id, row]))
    return ids.map((id) => (id === undefined ? undefined : byId.get(id)))
  })

  /** The one whose place another request with the same body can never have. */
  const requiring = Effect.fnUntraced(function* (account: Account, sequence: bigint, body: string) {
    const [found] = yield* transactions.find(yield* relayers.requiring(account, sequence, hashOf(body)))
    return found
  })

  return { checkFees, formerOf, requiring }
})

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* NewTransactionsRepo.make
  const insert = yield* Inserting.make
  const admitting = yield* makeAdmitting
  const identities = yield* Identities.make
  const lanes = yield* LanesRepo.make
  const counts = yield* OpenCounts.make
  const takeOver = yield* TakingOver.make
  const transaction = yield* Transaction.make

  /** Bytes that are stored already are left out: another transaction may have them, or a caller may have got them signed before. */
  const insertBatch = Effect.fnUntraced(function* (acceptances: ReadonlyArray<Acceptance>) {
    const doubtful = yield* identities.lockDoubtful(
      acceptances.flatMap(({ account: { chain, address }, transaction: { identity } }) =>
        identity === undefined ? [] : { chain, address, identity }
      )
    )
    const clear = acceptances.filter(
      ({ transaction: { identity } }) => identity === undefined || !doubtful.has(identity)
    )
    const hasRoom = yield* counts.addAll(clear.map(({ account: { relayerNumber } }) => ({ relayerNumber, count: 1 })))
    const admitted = clear.filter((_, index) => hasRoom[index])
    const found = admitted.length === 0 ? [] : yield* insert(admitted, false)
    const stored = new Map(Array.getSomes(found).map((one) => [one.id, one]))
    // What is accepted alone counts itself, and what was accepted before counts once.
    counts.remove(admitted.flatMap(({ account, transaction: { id } }) => (stored.has(id) ? [] : account.relayerNumber)))
    return acceptances.map((acceptance) => Option.fromUndefinedOr(stored.get(acceptance.transaction.id)))
  }, transaction)

  /** A batch that fails as a whole, for example by a deadlock, is accepted one by one, so that each reports its own error. */
  const batched = yield* Batcher.make<Acceptance, Option.Option<StoredTransaction>>(sql, {
    group: ({ account }) => String(account.relayerNumber % groups),
    patience,
    all: (acceptances) =>
      Effect.catchDefect(insertBatch(acceptances), (defect) =>
        isUnavailable(defect)
          ? Effect.die(defect)
          : Effect.as(
              Effect.logWarning("transactions are accepted one by one because their batch failed"),
              acceptances.map(Option.none<StoredTransaction>)
            )
      )
  })

  const acceptOnce = Effect.fnUntraced(function* (
    account: Account,
    acceptances: Array.NonEmptyReadonlyArray<Acceptance>,
    limits: ReadonlyArray<FeeLimit>
  ) {
    const relayer = yield* repo.holdRelayer(account.relayerNumber)
    if (Option.isNone(relayer)) return yield* new RelayerNotFound({})
    if (relayer.value.paused) return yield* new RelayerPaused({})
    const former = yield* admitting.formerOf(account, acceptances.map(externalOf))
    const added = acceptances.filter((_, index) => former[index] === undefined)
    if (added.length > 0) {
      yield* checkDistinct(added)
      if (yield* lanes.isChannel(account)) return yield* isChannel
      yield* identities.lock(added.flatMap(({ transaction: { identity } }) => identity ?? []))
      yield* identities.check(
        account,
        added.map(({ transaction }) => transaction)
      )
      yield* counts.add({ relayerNumber: account.relayerNumber, count: added.length })
      yield* admitting.checkFees(
        added.map(({ transaction }) => transaction),
        limits,
        acceptances[0].now
      )
    }
    const inserted = added.length === 0 ? [] : yield* insert(yield* takeOver(account, added), true)
    if (inserted.some(Option.isNone)) return yield* new Raced()
    const stored = new Map(Array.getSomes(inserted).map((one) => [one.id, one]))
    return Array.map(acceptances, ({ transaction: { id } }, index): Accepted => {
      const fresh = stored.get(id)
      if (fresh !== undefined) return { stored: fresh, isNew: true }
      const found = former[index]
      if (found === undefined) throw new Error("an accepted transaction is neither new nor known")
      return { stored: found, isNew: false }
    })
  }, transaction)

  const acceptAlone = (
    account: Account,
    acceptances: Array.NonEmptyReadonlyArray<Acceptance>,
    limits: ReadonlyArray<FeeLimit>
  ) =>
    acceptOnce(account, acceptances, limits).pipe(
      retryDeadlock,
      Effect.retry({ while: ({ _tag }) => _tag === "Raced" }),
      Effect.catchTag("Raced", Effect.die)
    )

  const accept = Effect.fn("Ledger.accept")(function* (
    account: Account,
    added: Array.NonEmptyReadonlyArray<NewTransaction>,
    limits: ReadonlyArray<FeeLimit> = []
  ) {
    const origin = yield* currentOrigin
    const trace = yield* currentTrace
    const now = yield* Clock.currentTimeMillis
    const acceptances = Array.map(added, (one): Acceptance => ({
      account,
      transaction: one,
      bodyHash: hashOf(one.body),
      origin,
      trace,
      now
    }))
    if (acceptances.length === 1 && limits.length === 0) {
      const stored = yield* batched(acceptances[0])
      if (Option.isSome(stored)) return Array.of<Accepted>({ stored: stored.value, isNew: true })
    }
    return yield* acceptAlone(account, acceptances, limits)
  })

  const repeated = Effect.fn("Ledger.repeated")((account: Account, asked: ReadonlyArray<NamedBody>) =>
    asked.some(({ externalId, identity }) => externalId !== undefined || identity !== undefined)
      ? admitting.formerOf(
          account,
          asked.map(({ body, ...names }) => ({ ...names, bodyHash: hashOf(body) }))
        )
      : Effect.succeed([])
  )

  return { accept, repeated, requiring: admitting.requiring }
})
