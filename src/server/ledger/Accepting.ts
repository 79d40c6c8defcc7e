// Accepts transactions, and signatures that callers get. Those that arrive while two batches are written form the next batches (ADR 0010,
// 0017).
import { Array, Clock, Context, Data, Effect, Exit, Option, Tracer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import { RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { present } from "../../networks/core/Presentation.ts"
import { TransactionConflict } from "../../networks/core/Rules.ts"
import { RelayerPaused } from "../../networks/core/TransactionLimits.ts"
import type { Moment, TransactionId } from "../../networks/core/TransactionValues.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { isTraced } from "../../sql/batch/Batcher.ts"
import { Audit } from "../audit/Audit.ts"
import { commitSignalOf } from "../lifecycle/Lifecycle.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { isRefused, isUnavailable, retryDeadlock } from "../../sql/Transaction.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import { makeFeeLimits, makeIdentities, makeOpenCounts, sameBytes } from "./AcceptanceChecks.ts"
import * as AuthoritiesRepo from "./AuthoritiesRepo.ts"
import type { Carried } from "./AuthoritiesRepo.ts"
import { Holder } from "./Holder.ts"
import * as LanesRepo from "./LanesRepo.ts"
import { canConflict, LedgerRules, TermsForgotten } from "./LedgerEntries.ts"
import type {
  Accepted,
  Account,
  FeeLimit,
  GivenSignature,
  IssuedSignature,
  NamedBody,
  NewTransaction,
  StoredTransaction
} from "./LedgerEntries.ts"
import * as RelayerTransactionsRepo from "./RelayerTransactionsRepo.ts"
import type { Named } from "./RelayerTransactionsRepo.ts"
import { makeGivenSignatures } from "./SignaturesRepo.ts"
import * as Writing from "./TransactionWrites.ts"
import * as TransactionsRepo from "./TransactionsRepo.ts"
import { makeNewTransactions } from "./TransactionsRepo.ts"
import type { Acceptance, Inserted } from "./TransactionsRepo.ts"
import { makeWhole, makeWholeInsertion, statementsOf } from "./WholeAcceptances.ts"
import type { WholeAcceptance } from "./WholeAcceptances.ts"

// Inserts accepted transactions with their lanes, audit records and events, in the running SQL transaction.

const keyOf = ({ chain, address }: Account): string => `${chain} ${address}`

const carriedBy = ({ account: { chain }, transaction: { id, authorities = [] } }: Acceptance): ReadonlyArray<Carried> =>
  authorities.map((authority) => ({ chain, authority, id }))

const makeInserting = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* makeNewTransactions
  const insertTogether = yield* makeWholeInsertion
  const records = yield* commitSignalOf("audit")
  const events = yield* commitSignalOf("events")
  const deliveries = yield* commitSignalOf("deliveries")
  const lanes = yield* LanesRepo.make
  const authorities = yield* AuthoritiesRepo.make
  const audit = yield* Audit
  const { accountChanges, changeOf } = yield* Writing.auditing
  const publish = yield* Writing.publishing
  const holder = yield* Holder

  /** Lanes that are known to exist. The service never deletes a lane. */
  const known = new Set<string>()

  const ensureLanes = Effect.fnUntraced(function* (acceptances: ReadonlyArray<Acceptance>) {
    const missing = acceptances.map(({ account }) => account).filter((account) => !known.has(keyOf(account)))
    if (missing.length === 0) return
    yield* lanes.ensure(missing)
    yield* sql.afterCommit(Effect.sync(() => missing.forEach((account) => known.add(keyOf(account)))))
  })

  const record = Effect.fnUntraced(function* (
    accepted: ReadonlyArray<{ readonly stored: StoredTransaction; readonly origin: Origin }>
  ) {
    if (accepted.length === 0) return
    yield* audit.recordMany(
      accepted.flatMap(({ stored, origin }) => [
        changeOf("transaction.sent", { after: stored }, origin),
        ...accountChanges(stored, origin)
      ])
    )
    yield* publish(
      accepted.map(({ stored, origin }) => ({ type: "transaction.created", stored, requestId: origin.requestId }))
    )
    yield* hear(accepted.map(({ stored }) => stored))
  })

  /** Reaches the lanes of this process after the commit. */
  const hear = (accepted: ReadonlyArray<StoredTransaction>) =>
    holder.accepted(accepted.map((stored) => ({ laneId: stored.laneId, number: stored.transaction.number, stored })))

  /** In the order of the acceptances; none for those that were not inserted. */
  const storedOf = (acceptances: ReadonlyArray<Acceptance>, inserted: ReadonlyArray<Inserted>) => {
    const rows = new Map(inserted.map((row) => [row.id, row]))
    const found = acceptances.map((acceptance) =>
      Option.map(Option.fromUndefinedOr(rows.get(acceptance.transaction.id)), (row) =>
        Writing.newlyStored(acceptance, row)
      )
    )
    // Another program may have deleted the lane: the next insertion ensures that it exists.
    for (const [index, { account }] of acceptances.entries())
      if (found[index]?._tag === "None") known.delete(keyOf(account))
    return found
  }

  const insert = Effect.fnUntraced(function* (acceptances: ReadonlyArray<Acceptance>, waits: boolean) {
    yield* ensureLanes(acceptances)
    const found = storedOf(acceptances, yield* repo.insert(acceptances, waits))
    const added = acceptances.filter((_, index) => found[index]?._tag === "Some")
    yield* authorities.add(added.flatMap(carriedBy), () => new Raced())
    yield* record(
      Array.getSomes(
        Array.zipWith(found, acceptances, (one, { origin }) => Option.map(one, (stored) => ({ stored, origin })))
      )
    )
    return found
  })

  /** The same in one statement, which needs no transaction of its own. */
  const insertWhole = Effect.fnUntraced(function* (wholes: ReadonlyArray<WholeAcceptance>) {
    const acceptances = wholes.map(({ acceptance }) => acceptance)
    yield* ensureLanes(acceptances)
    const found = storedOf(acceptances, yield* insertTogether(wholes))
    const accepted = Array.getSomes(found)
    if (accepted.length === 0) return found
    yield* records.afterCommit
    yield* events.afterCommit
    if (wholes.some(({ delivery }) => delivery !== undefined)) yield* deliveries.afterCommit
    yield* hear(accepted)
    return found
  })

  return { insert, insertWhole }
})

// Transactions whose bytes a caller got signed before: they take the signature over, because the bytes are outside already.

const makeTakingOver = Effect.gen(function* () {
  const repo = yield* makeGivenSignatures
  const networks = yield* LedgerRules

  /** The caller has locked the identities. */
  return Effect.fnUntraced(function* (account: Account, acceptances: ReadonlyArray<Acceptance>) {
    const { rules, offer } = networks.of(account.chain)
    const { withGiven } = rules
    const identities = acceptances.flatMap(({ transaction: { identity } }) => identity ?? [])
    if (withGiven === undefined || identities.length === 0) return acceptances
    const offers = yield* repo.offers(account, identities)
    return acceptances.map((acceptance) => {
      const { identity = "", facts } = acceptance.transaction
      const given = offers.get(identity)
      if (given === undefined) return acceptance
      const known = withGiven(facts, { hash: given.hash, offer: offer.decode(given.offer) })
      return { ...acceptance, transaction: { ...acceptance.transaction, facts: known } }
    })
  })
})

/** `whole`: absent if another transaction can conflict with it. */
interface Requested {
  readonly acceptance: Acceptance
  readonly whole?: WholeAcceptance
}

/** Batches written at the same time. A relayer is in one group, so that its transactions get numbers in order of arrival. */
const groups = 2

/** A batch that waits for a lock longer than this does not hold up the next one. */
const patience = "100 millis"

/** Another request committed the same `external_id`, `identity`, `exclusive` or authority between the lookup and the insertion: the next lookup finds it. */
class Raced extends Data.TaggedError("Raced") {}

/**
 * Further tries of an acceptance, or of a signature for a caller. After a race the next lookup finds what the other request has stored, so that
 * few are needed. A request that loses this often shows a fault of the service, and is answered with 500 instead of being tried for ever.
 */
const maxRaces = 100

const whileRaced = { while: ({ _tag }: { readonly _tag: string }) => _tag === "Raced", times: maxRaces }

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
  const { spend } = yield* makeFeeLimits

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
      if (same !== undefined && same.bodyHash !== bodyHash) return yield* sameBytes(same.id)
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
  const repo = yield* makeNewTransactions
  const wholeOf = yield* makeWhole
  const { insert, insertWhole } = yield* makeInserting
  const admitting = yield* makeAdmitting
  const identities = yield* makeIdentities
  const lanes = yield* LanesRepo.make
  const counts = yield* makeOpenCounts
  const takeOver = yield* makeTakingOver
  const transaction = yield* Transaction.make

  /** Inserts those for which there is room. Returns those that were stored, by their ids. */
  const insertCounted = Effect.fnUntraced(function* <R extends Pick<Requested, "acceptance">>(
    requested: ReadonlyArray<R>,
    inserting: (admitted: ReadonlyArray<R>) => Effect.Effect<ReadonlyArray<Option.Option<StoredTransaction>>>
  ) {
    const hasRoom = yield* counts.addAll(
      requested.map(({ acceptance: { account } }) => ({ relayerNumber: account.relayerNumber, count: 1 }))
    )
    const admitted = requested.filter((_, index) => hasRoom[index])
    const found = admitted.length === 0 ? [] : yield* inserting(admitted)
    const stored = new Map(Array.getSomes(found).map((one) => [one.id, one]))
    // What is accepted alone counts itself, and what was accepted before counts once.
    counts.remove(
      admitted.flatMap(({ acceptance: { account, transaction } }) =>
        stored.has(transaction.id) ? [] : account.relayerNumber
      )
    )
    return stored
  })

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
    const stored = yield* insertCounted(
      clear.map((acceptance) => ({ acceptance })),
      // Only what is accepted alone carries authorizations, which two requests can claim at the same time.
      (admitted) =>
        Effect.catchTag(
          insert(
            admitted.map(({ acceptance }) => acceptance),
            false
          ),
          "Raced",
          Effect.die
        )
    )
    return acceptances.map(({ transaction: { id } }) => Option.fromUndefinedOr(stored.get(id)))
  }, transaction)

  const oneByOne = (acceptances: ReadonlyArray<unknown>) =>
    Effect.as(
      Effect.logWarning("transactions are accepted one by one because their batch failed"),
      acceptances.map(Option.none<StoredTransaction>)
    )

  /** A failure does not end the transaction of a caller. */
  const within = <A>(self: Effect.Effect<A>) =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (running) =>
      Option.isSome(running) ? transaction(self) : self
    )

  /** What the server refuses is accepted one by one. After any other failure, it may be stored. */
  const insertStatement = Effect.fnUntraced(function* (wholes: ReadonlyArray<WholeAcceptance>) {
    const stored = yield* insertCounted(wholes, (admitted) =>
      Effect.catchDefect(within(insertWhole(admitted)), (defect) =>
        isRefused(defect) ? oneByOne(admitted) : Effect.die(defect)
      )
    )
    return wholes.map(({ acceptance: { transaction } }) => Option.fromUndefinedOr(stored.get(transaction.id)))
  })

  /** An earlier statement is answered whatever becomes of a later one. */
  const insertStatements = (wholes: ReadonlyArray<WholeAcceptance>) =>
    Effect.map(
      Effect.forEach(statementsOf(wholes), (some) =>
        Effect.map(Effect.exit(insertStatement(some)), (exit) =>
          some.map((_, index) => Exit.map(exit, (stored) => stored[index] ?? Option.none()))
        )
      ),
      (answers) => answers.flat()
    )

  /**
   * A batch that fails as a whole, for example by a deadlock, is accepted one by one, so that each reports its own error. Transactions of a relayer keep their
   * order: one that has to be compared with others takes the rest of its batch along.
   */
  const batched = yield* Batcher.make<Requested, Exit.Exit<Option.Option<StoredTransaction>>>(sql, {
    group: ({ acceptance: { account } }) => String(account.relayerNumber % groups),
    patience,
    all: (requested) => {
      const wholes = requested.flatMap(({ whole }) => whole ?? [])
      if (wholes.length === requested.length) return insertStatements(wholes)
      return insertBatch(requested.map(({ acceptance }) => acceptance)).pipe(
        Effect.catchDefect((defect) => (isUnavailable(defect) ? Effect.die(defect) : oneByOne(requested))),
        Effect.map((stored) => stored.map(Exit.succeed))
      )
    }
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

  /** Numbers of relayers whose last acceptance alone was refused by the server: they spoil no batch until one succeeds. */
  const refusedAlone = new Set<number>()

  const acceptAlone = (
    account: Account,
    acceptances: Array.NonEmptyReadonlyArray<Acceptance>,
    limits: ReadonlyArray<FeeLimit>
  ) =>
    acceptOnce(account, acceptances, limits).pipe(
      retryDeadlock,
      Effect.retry(whileRaced),
      Effect.catchTag("Raced", Effect.die),
      Effect.tap(() => Effect.sync(() => refusedAlone.delete(account.relayerNumber))),
      Effect.catchDefect((defect) => {
        if (isRefused(defect)) refusedAlone.add(account.relayerNumber)
        return Effect.die(defect)
      })
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
    const [acceptance] = acceptances
    // The unique index of authorities refuses a statement as a whole: nothing of others is in it.
    const isAlone = acceptance.transaction.authorities !== undefined || refusedAlone.has(account.relayerNumber)
    if (acceptances.length === 1 && limits.length === 0 && !isAlone) {
      const whole = canConflict(acceptance.transaction) ? undefined : yield* wholeOf(acceptance)
      if (account.terms !== undefined && whole === undefined) return yield* new TermsForgotten({})
      const stored = yield* Effect.flatten(batched({ acceptance, ...present("whole", whole) }))
      if (Option.isSome(stored)) return Array.of<Accepted>({ stored: stored.value, isNew: true })
    }
    if (account.terms !== undefined) return yield* new TermsForgotten({})
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

// Stores signatures that a caller gets before the caller gets them: their fees count as if the service sent them.

/** Another request committed the same identity between the lookup and the insertion: the next lookup finds it. */
class SignatureRaced extends Data.TaggedError("Raced") {}

export const isOfAnother = new TransactionConflict({
  error: "already_signed: the same bytes were signed for another relayer"
})

export const makeGiving = Effect.gen(function* () {
  const repo = yield* makeGivenSignatures
  const lanes = yield* LanesRepo.make
  const relayers = yield* makeNewTransactions
  const identities = yield* makeIdentities
  const { spend } = yield* makeFeeLimits
  const networks = yield* LedgerRules
  const audit = yield* Audit
  const transaction = yield* Transaction.make

  const given = Effect.fn("Ledger.given")(function* (account: Account, identity: string) {
    yield* identities.check(account, [{ identity }])
    const former = Option.getOrUndefined(yield* repo.find(account, identity))
    if (former === undefined) return undefined
    if (former.relayer_number !== account.relayerNumber) return yield* isOfAnother
    const issued: IssuedSignature = { hash: former.hash, raw: former.raw, isNew: false }
    return issued
  })

  /** As the attempts of the chain store theirs. */
  const offerText = (chain: string, { offer }: GivenSignature): string | undefined =>
    offer === undefined ? undefined : networks.of(chain).offer.text(offer)

  const giveOnce = Effect.fnUntraced(function* (
    account: Account,
    fresh: GivenSignature,
    limits: ReadonlyArray<FeeLimit>
  ) {
    const relayer = yield* relayers.holdRelayer(account.relayerNumber)
    if (Option.isNone(relayer)) return yield* new RelayerNotFound({})
    if (relayer.value.paused) return yield* new RelayerPaused({})
    yield* lanes.ensure([account])
    const { hash, raw, fee, identity } = fresh
    if (identity !== undefined) yield* identities.lock([identity])
    const former = identity === undefined ? undefined : yield* given(account, identity)
    if (former !== undefined) return former
    // The service can have built the same bytes for a transaction: commits of the lane wait until this one ends.
    yield* lanes.lock(account)
    yield* identities.checkSignature(account, hash)
    const now = yield* Clock.currentTimeMillis
    const origin = yield* currentOrigin
    yield* spend(
      limits.map((limit) => ({ ...limit, more: fee })),
      now
    )
    const { relayerId, chain } = account
    if (!(yield* repo.insert(account, origin.keyId, fresh, offerText(chain, fresh), now)))
      return yield* new SignatureRaced()
    const after = JSON.stringify({ relayer_id: relayerId, chain, hash, identity, fee: String(fee) })
    yield* audit.recordMany([{ action: "transaction.signed", id: hash, after, origin }])
    const issued: IssuedSignature = { hash, raw, isNew: true }
    return issued
  }, transaction)

  const give = Effect.fn("Ledger.give")(
    (account: Account, fresh: GivenSignature, limits: ReadonlyArray<FeeLimit> = []) =>
      giveOnce(account, fresh, limits).pipe(
        retryDeadlock,
        Effect.retry(whileRaced),
        Effect.catchTag("Raced", Effect.die)
      )
  )

  return { give, given, givenPlaces: repo.places }
})
