// Accepts, shows, replaces and cancels transactions. The feature `lanes` sends them.
import { Array as Arr, Clock, Context, DateTime, Effect, Layer, Option, Result, Struct } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { topUpPrefix } from "../../domain/relayer/TopUp.ts"
import type { Items, Page } from "../../domain/request/Page.ts"
import { BadRequest, NotImplemented } from "../../domain/request/Request.ts"
import type { BadGateway } from "../../domain/request/Request.ts"
import type {
  ShownSimulation,
  ShownTransaction,
  TransactionBody,
  TransactionReplacement
} from "../../networks/core/Family.ts"
import { present } from "../../networks/core/Presentation.ts"
import { isTopUp } from "../../networks/core/TopUpDecision.ts"
import { TransactionConflict } from "../../networks/core/Rules.ts"
import type { Rules } from "../../networks/core/Rules.ts"
import { isFinal } from "../../networks/core/Transaction.ts"
import type { Transaction } from "../../networks/core/Transaction.ts"
import { TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import type { RelayerPaused } from "../../networks/core/TransactionLimits.ts"
import type {
  AllTransactionsQuery,
  CanceledTransactions,
  TransactionExplanation,
  TransactionQuery,
  TransactionWait
} from "../../networks/core/TransactionRequests.ts"
import { TransactionId } from "../../networks/core/TransactionValues.ts"
import type { TransactionNotFound } from "../../networks/core/TransactionValues.ts"
import { Cursors } from "../cursors/Cursors.ts"
import { EventFeed } from "../events/EventFeed.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { canConflict } from "../ledger/LedgerEntries.ts"
import type { FeeLimit, NewTransaction, StoredTransaction } from "../ledger/LedgerEntries.ts"
import { Draining } from "../lifecycle/Lifecycle.ts"
import { CurrentRequest } from "../responses/CurrentRequest.ts"
import { makeKeyFees, makeOwnCheck, makeSenders, mayRead } from "./Intake.ts"
import type { Admitted, IntakeNetwork, JsonBody, Limited, Senders } from "./Intake.ts"
import { makeExplanations, makePages, makeViews } from "./TransactionViews.ts"

// Checks what a caller wants to send, and stores it. Nothing is signed or sent here.

/** Its amount counts for the limits of top-ups. */
const topUpReplaced = new TransactionConflict({
  error: "is the payment of a top-up: cancel it, and send another transaction instead"
})

/** Why a transaction is not accepted. */
export type Refusal =
  | RelayerNotFound
  | NotImplemented
  | BadRequest
  | RelayerPaused
  | TransactionLimitExceeded
  | TransactionConflict
  | TooManyRequests

const newTransaction = (
  id: TransactionId,
  body: string,
  admitted: Admitted,
  rules: Rules,
  limits: ReadonlyArray<FeeLimit>
): NewTransaction => {
  const { request, facts, fee } = admitted
  const authorities = rules.authoritiesOf?.(request) ?? []
  return {
    id,
    body,
    ...Struct.omit(admitted, ["fee"]),
    ...present("identity", rules.identityOf(request, facts)),
    ...present("exclusive", rules.exclusiveOf(request, facts)),
    ...present("authorities", authorities.length === 0 ? undefined : authorities),
    ...(limits.length === 0 ? {} : { fee })
  }
}

/** Whether the ledger compares remembered terms when it accepts these: it stores them by one statement. */
const isCompared = (prepared: ReadonlyArray<NewTransaction>, limits: ReadonlyArray<FeeLimit>): boolean =>
  limits.length === 0 && prepared.length === 1 && !prepared.some(canConflict)

/** The bodies of a request, which the network of its relayer reads. */
interface Reading {
  read(network: IntakeNetwork): Effect.Effect<ReadonlyArray<unknown>, BadRequest>
  /** Path of the body with this index, such as `transactions.0.`. */
  pathOf(index: number): string
}

/** By the index of the body. Undefined, or beyond the end: it was not accepted before. */
type Repeats = ReadonlyArray<StoredTransaction | undefined>

/** The refusal of a batch names those of its transactions that were accepted before: they are not refused. */
const besides = (refusal: Refusal, known: Repeats, { pathOf }: Reading): Refusal => {
  const accepted = known.flatMap((stored, index) =>
    stored === undefined ? [] : `${pathOf(index).slice(0, -1)} was accepted before as transaction ${stored.id}`
  )
  const after = (why: string) => [why, ...accepted].join("; ")
  switch (refusal._tag) {
    case "BadRequest":
      return new BadRequest({ error: after(refusal.message) })
    case "TransactionLimitExceeded":
      return new TransactionLimitExceeded({ error: after(refusal.error) })
    case "TransactionConflict":
      return new TransactionConflict({ error: after(refusal.error) })
    case "RelayerPaused":
      return new TransactionConflict({ error: after(refusal.message) })
    default:
      return refusal
  }
}

const makeAcceptance = Effect.fnUntraced(function* (senders: Senders) {
  const ledger = yield* Ledger
  const fees = yield* makeKeyFees
  const random = yield* SecureRandom.SecureRandom

  /** Accepts all bodies that are not known, or none. Returns known transactions as they are. */
  const acceptBy = Effect.fnUntraced(function* (
    { sender, limits, ...network }: Limited,
    { read, pathOf }: Reading,
    known: Repeats
  ) {
    const { intake, textOf } = network
    const bodies = Arr.map(yield* read(network), (body, index) => ({ body, index }))
    if (!Arr.isReadonlyArrayNonEmpty(bodies)) return []
    const now = DateTime.toEpochMillis(yield* DateTime.now)
    const admitted = yield* Effect.forEach(
      bodies.filter(({ index }) => known[index] === undefined),
      ({ body, index }) =>
        Effect.map(intake.admit(body, sender, { now, limits, prefix: pathOf(index) }), (one) => ({ one, body, index }))
    )
    if (!Arr.isReadonlyArrayNonEmpty(admitted)) return []
    const reserved = admitted.filter(({ one }) => one.externalId?.startsWith(topUpPrefix) === true)
    if (reserved.length > 0) {
      const message = `names that begin with ${topUpPrefix} belong to top-ups: use another one`
      return yield* BadRequest.of(reserved.map(({ index }) => ({ field: `${pathOf(index)}external_id`, message })))
    }
    const feeLimits = yield* fees.limitsOf(sender, limits)
    const prepared = yield* Effect.forEach(admitted, ({ one, body }) =>
      Effect.map(random.uuidV7(), (id) =>
        newTransaction(TransactionId.make(id), textOf(body), one, intake.rules, feeLimits)
      )
    )
    senders.note(sender.relayer.id, isCompared(prepared, feeLimits))
    const accepted = yield* ledger
      .accept(sender.account, prepared, feeLimits)
      .pipe(Effect.catchTag("FeeLimitExceeded", (exceeded) => fees.exceeded(exceeded, sender)))
    const fresh = accepted.values()
    return Arr.map(bodies, ({ index }) => {
      const stored = known[index] ?? fresh.next().value?.stored
      if (stored === undefined) throw new Error("the ledger has accepted fewer transactions than it was given")
      return stored
    })
  })

  /** By remembered terms if they permit it, else by fresh ones. */
  const acceptNew = Effect.fnUntraced(function* (relayerId: RelayerId, reading: Reading, known: Repeats) {
    const remembered = yield* senders.remembered(relayerId)
    const permitted = remembered === undefined ? undefined : yield* Effect.option(acceptBy(remembered, reading, known))
    if (permitted !== undefined && Option.isSome(permitted)) return permitted.value
    return yield* Effect.catchTag(
      acceptBy(yield* senders.getRemembering(relayerId), reading, known),
      "TermsForgotten",
      Effect.die
    )
  })

  /** What was accepted before, as far as the caller may read it: with `transactions:read`, or because it has sent it. */
  const repeatedOf = Effect.fnUntraced(function* (relayerId: RelayerId, { read }: Reading) {
    const { sender, ...network } = yield* senders.get(relayerId)
    const bodies = yield* read(network)
    const named = yield* Effect.forEach(bodies, (body) =>
      Effect.map(network.intake.namesOf(body, sender.target), (names) => ({ ...names, body: network.textOf(body) }))
    )
    const caller = yield* Caller.current
    const found = yield* ledger.repeated(sender.account, named)
    return found.map((stored) => (stored !== undefined && mayRead(caller, stored) ? stored : undefined))
  })

  /**
   * Accepts all or none. Transactions that were accepted before are returned, whatever keeps them from being accepted now: a
   * caller that repeats a request because it got no response must not read that it was refused. They are only looked up after
   * a refusal, so that the lookup costs other requests nothing, and finds what was committed until then.
   */
  return (relayerId: RelayerId, reading: Reading) =>
    Effect.catch(acceptNew(relayerId, reading, []), (refusal: Refusal) =>
      Effect.gen(function* () {
        const known = yield* repeatedOf(relayerId, reading).pipe(
          Effect.catchTags({
            RelayerNotFound: () => Effect.fail(refusal),
            NotImplemented: () => Effect.fail(refusal),
            BadRequest: () => Effect.fail(refusal)
          })
        )
        const accepted = known.filter((stored) => stored !== undefined)
        if (!Arr.isReadonlyArrayNonEmpty(accepted)) return yield* refusal
        if (accepted.length === known.length) return accepted
        return yield* Effect.mapError(acceptNew(relayerId, reading, known), (other) => besides(other, known, reading))
      })
    )
})

// Cancels transactions for a caller: one of them, or all that are open.

/** Transactions that one SQL transaction cancels. Each can have 128 kB of data. */
const cancelsPerCommit = 100

/** The time limit of a cancel of all, and of a read that waits, without an HTTP request, in milliseconds. */
const programTime = 30_000

/** After this part of its time, a cancel of all begins no further commit. The rest is for a commit that waits for locks. */
const cancelShare = 1 / 3

/** `checkOwn`: of `OwnTransactions.make`. */
const makeCancellations = Effect.fnUntraced(function* (checkOwn: Effect.Success<typeof makeOwnCheck>) {
  const ledger = yield* Ledger

  const cancel = Effect.fnUntraced(function* (relayerNumber: number, id: TransactionId, onlyPending: boolean) {
    const { transactionLimits } = yield* Caller.current
    if (transactionLimits !== undefined) yield* checkOwn(yield* ledger.get(relayerNumber, id))
    return yield* ledger.cancel(relayerNumber, id, onlyPending)
  })

  const publish = Effect.fnUntraced(function* (relayerNumber: number, id: TransactionId) {
    yield* checkOwn(yield* ledger.get(relayerNumber, id))
    return yield* ledger.publish(relayerNumber, id)
  })

  /** The open transactions that the caller may cancel, and those that it may not. Each sending API key is checked once. */
  const cancelableOf = Effect.fnUntraced(function* (relayerNumber: number) {
    const open = yield* ledger.cancelable(relayerNumber)
    const senders = Arr.dedupeWith(open, (one, other) => one.apiKeyId === other.apiKeyId)
    const [allowed] = yield* Effect.partition(senders, (sender) => Effect.as(checkOwn(sender), sender.apiKeyId))
    const own = new Set(allowed)
    const idsIf = (isOwn: boolean) => open.flatMap(({ id, apiKeyId }) => (own.has(apiKeyId) === isOwn ? [id] : []))
    return { ids: idsIf(true), foreign: idsIf(false) }
  })

  /**
   * Reports transactions that were mined or became final meanwhile, and cancels the others, in the order of their acceptance.
   * It stops before the request's time limit; a repetition continues.
   */
  const cancelAll = Effect.fnUntraced(function* (number: number) {
    const time = (yield* CurrentRequest)?.timeLimit?.ms ?? programTime
    const deadline = (yield* Clock.currentTimeMillis) + time * cancelShare
    const { ids, foreign } = yield* cancelableOf(number)
    const queued = new Set<TransactionId>()
    let done = 0
    while (done < ids.length && (yield* Clock.currentTimeMillis) < deadline) {
      const some = ids.slice(done, done + cancelsPerCommit)
      for (const id of yield* ledger.cancelMany(number, some)) queued.add(id)
      done += some.length
    }
    const tried = ids.slice(0, done)
    const remaining = ids.length - done
    return {
      queued_for_cancellation_transaction_ids: tried.filter((id) => queued.has(id)),
      failed_to_queue_transaction_ids: [...tried.filter((id) => !queued.has(id)), ...foreign],
      total_processed: done + foreign.length,
      ...(remaining === 0 ? {} : { remaining })
    }
  })

  return { cancel, cancelAll, publish }
})

// Reads that wait for a state of a transaction.

/** The part of a request's time for which a read waits. The rest is for reads. */
const waitShare = 4 / 5

const isReached: Readonly<Record<TransactionWait, (transaction: Transaction) => boolean>> = {
  hash: (transaction) => transaction.attempts.length > 0 || isFinal(transaction),
  mined: (transaction) => transaction.state === "mined" || isFinal(transaction),
  confirmed: isFinal
}

const makeWaits = Effect.gen(function* () {
  const ledger = yield* Ledger
  const feed = yield* EventFeed
  const draining = yield* Draining

  /** Reads the transaction again after each event about it. The transaction has got so far, the time is over, or the instance drains. */
  return Effect.fnUntraced(function* (relayerNumber: number, id: TransactionId, wanted: TransactionWait) {
    const time = ((yield* CurrentRequest)?.timeLimit?.ms ?? programTime) * waitShare
    const read = ledger.get(relayerNumber, id)
    const isThere = Effect.map(read, ({ transaction }) => isReached[wanted](transaction))
    if (yield* isThere) return yield* read
    const reached = Effect.gen(function* () {
      const changed = yield* feed.changesOf(id)
      while (!(yield* isThere)) yield* changed
    })
    yield* Effect.raceFirst(reached, draining.begun).pipe(Effect.timeoutOption(time), Effect.scoped)
    return yield* read
  })
})

type Unknown = RelayerNotFound | TransactionNotFound

/** Transactions that are accepted together, all of the same network type. */
interface Batch {
  readonly transactions: ReadonlyArray<TransactionBody>
}

export class Transactions extends Context.Service<
  Transactions,
  {
    /**
     * Stores the transaction, or returns the one with the same `external_id` or prebuilt bytes and the same body, also if the
     * body could no longer be accepted. Fails with `BadRequest` if the body is not one of the relayer's network type.
     */
    send(relayerId: RelayerId, body: TransactionBody | JsonBody): Effect.Effect<ShownTransaction, Refusal>
    /** Accepts all or none. Those that were accepted before are returned as `send` returns them. */
    sendBatch(relayerId: RelayerId, batch: Batch | JsonBody): Effect.Effect<ReadonlyArray<ShownTransaction>, Refusal>
    /** What the body would do and cost now. Nothing is stored or sent. */
    simulate(
      relayerId: RelayerId,
      body: TransactionBody | JsonBody
    ): Effect.Effect<ShownSimulation, RelayerNotFound | NotImplemented | BadRequest | BadGateway | TooManyRequests>
    /** Newest first. Without a total if the query has a cursor. */
    list(
      relayerId: RelayerId,
      query: TransactionQuery
    ): Effect.Effect<
      Items<ShownTransaction> & Partial<Pick<Page<ShownTransaction>, "total" | "request">>,
      RelayerNotFound | BadRequest
    >
    /** The transactions of all relayers that the caller can use, newest first. */
    listAll(query: AllTransactionsQuery): Effect.Effect<Items<ShownTransaction>, BadRequest>
    /** `wait`: as soon as it has got so far, or as it is at the end of the time. It holds no connection meanwhile. */
    get(relayerId: RelayerId, id: TransactionId, wait?: TransactionWait): Effect.Effect<ShownTransaction, Unknown>
    /** Fails with `NotImplemented` if the network type does not know transactions by a sequence. */
    byNonce(relayerId: RelayerId, nonce: number | bigint): Effect.Effect<ShownTransaction, Unknown | NotImplemented>
    explain(relayerId: RelayerId, id: TransactionId): Effect.Effect<TransactionExplanation, Unknown>
    replace(
      relayerId: RelayerId,
      id: TransactionId,
      replacement: TransactionReplacement | JsonBody
    ): Effect.Effect<ShownTransaction, Refusal | TransactionNotFound>
    /**
     * Only the status `canceled` promises that the transaction has no effect. With `onlyPending`, it is canceled if nothing was
     * ever signed; otherwise the call fails, and nothing is changed or sent.
     */
    cancel(
      relayerId: RelayerId,
      id: TransactionId,
      onlyPending?: boolean
    ): Effect.Effect<ShownTransaction, Unknown | TransactionConflict | TransactionLimitExceeded>
    cancelPending(relayerId: RelayerId): Effect.Effect<CanceledTransactions, RelayerNotFound>
    /** Sends a private transaction publicly from now on. */
    publish(
      relayerId: RelayerId,
      id: TransactionId
    ): Effect.Effect<ShownTransaction, Unknown | TransactionConflict | TransactionLimitExceeded>
  }
>()("effect-relayer/server/transactions/Transactions") {
  /** @internal */
  static readonly layerNoDeps = Layer.effect(
    Transactions,
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const senders = yield* makeSenders
      const views = yield* makeViews
      const pages = yield* makePages(senders)
      const accept = yield* makeAcceptance(senders)
      const explained = yield* makeExplanations
      const checkOwn = yield* makeOwnCheck
      const cancellations = yield* makeCancellations(checkOwn)
      const waited = yield* makeWaits

      const send = Effect.fn("Transactions.send")(function* (relayerId: RelayerId, body: TransactionBody | JsonBody) {
        const [stored] = yield* accept(relayerId, {
          read: ({ read }) => Effect.map(read.body(body), Arr.of),
          pathOf: () => ""
        })
        return yield* views.one(stored)
      })

      const sendBatch = Effect.fn("Transactions.sendBatch")(function* (relayerId: RelayerId, batch: Batch | JsonBody) {
        const accepted = yield* accept(relayerId, {
          read: ({ read }) => Effect.map(read.batch(batch), ({ transactions }) => transactions),
          pathOf: (index) => `transactions.${index}.`
        })
        return yield* views.many(accepted)
      })

      const simulate = Effect.fn("Transactions.simulate")(function* (
        relayerId: RelayerId,
        body: TransactionBody | JsonBody
      ) {
        const { sender, intake, read } = yield* senders.get(relayerId)
        if (intake.simulate === undefined) {
          return yield* new NotImplemented({
            error: `transactions of ${sender.relayer.network_type} cannot be simulated`
          })
        }
        const request = yield* read.body(body)
        const limits = yield* senders.limitsOf(sender.relayer)
        const now = DateTime.toEpochMillis(yield* DateTime.now)
        return yield* intake.simulate(request, sender, {
          now,
          limits: Result.getOrUndefined(limits),
          forbidden: Result.isFailure(limits) ? limits.failure : undefined
        })
      })

      const list = Effect.fn("Transactions.list")(function* (relayerId: RelayerId, query: TransactionQuery) {
        const page = yield* pages.list(relayerId, query)
        return { ...page, items: yield* views.many(page.items) }
      })

      const listAll = Effect.fn("Transactions.listAll")(function* (query: AllTransactionsQuery) {
        const found = yield* pages.listAll(query)
        return { ...found, items: yield* views.many(found.items) }
      })

      const get = Effect.fn("Transactions.get")(function* (
        relayerId: RelayerId,
        id: TransactionId,
        wait?: TransactionWait
      ) {
        const number = yield* senders.numberOf(relayerId)
        return yield* views.one(yield* wait === undefined ? ledger.get(number, id) : waited(number, id, wait))
      })

      const byNonce = Effect.fn("Transactions.byNonce")(function* (relayerId: RelayerId, nonce: number | bigint) {
        if (!(yield* senders.hasSequences(relayerId))) {
          return yield* new NotImplemented({ error: "transactions of this network type are not found by a nonce" })
        }
        return yield* views.one(yield* ledger.bySequence(yield* senders.numberOf(relayerId), BigInt(nonce)))
      })

      const explain = Effect.fn("Transactions.explain")(function* (relayerId: RelayerId, id: TransactionId) {
        return yield* explained(yield* ledger.get(yield* senders.numberOf(relayerId), id))
      })

      const replaceNew = Effect.fnUntraced(function* (
        relayerId: RelayerId,
        id: TransactionId,
        replacement: TransactionReplacement | JsonBody
      ) {
        const { sender, limits, intake, read } = yield* senders.getLimited(relayerId)
        const { relayerNumber } = sender.account
        const stored = yield* ledger.get(relayerNumber, id)
        yield* checkOwn(stored)
        if (isTopUp(stored.transaction)) return yield* topUpReplaced
        const given = yield* read.replacement(replacement)
        const now = DateTime.toEpochMillis(yield* DateTime.now)
        const { transaction } = stored
        const options = { now, limits, prefix: "", transaction }
        const { request, validUntil } = yield* intake.admitReplacement(given, sender, options)
        return yield* ledger.replace(relayerNumber, id, request, validUntil)
      })

      /** The transaction, if its newest version is what the replacement asks for. */
      const replacedBefore = Effect.fnUntraced(function* (
        relayerId: RelayerId,
        id: TransactionId,
        replacement: TransactionReplacement | JsonBody
      ) {
        const { sender, intake, read } = yield* senders.get(relayerId)
        const stored = yield* ledger.get(sender.account.relayerNumber, id)
        yield* checkOwn(stored)
        const isRepeat = intake.isNewest(yield* read.replacement(replacement), stored.transaction)
        return isRepeat && mayRead(yield* Caller.current, stored) ? stored : undefined
      })

      /** As a repeated send, a repeated replacement is not answered as refused. */
      const replace = Effect.fn("Transactions.replace")(
        (relayerId: RelayerId, id: TransactionId, replacement: TransactionReplacement | JsonBody) =>
          Effect.catch(replaceNew(relayerId, id, replacement), (refusal) =>
            Effect.filterOrFail(
              Effect.orElseSucceed(replacedBefore(relayerId, id, replacement), () => undefined),
              (stored) => stored !== undefined,
              () => refusal
            )
          ).pipe(Effect.flatMap(views.one))
      )

      const cancel = Effect.fn("Transactions.cancel")(function* (
        relayerId: RelayerId,
        id: TransactionId,
        onlyPending = false
      ) {
        return yield* views.one(yield* cancellations.cancel(yield* senders.numberOf(relayerId), id, onlyPending))
      })

      const publish = Effect.fn("Transactions.publish")(function* (relayerId: RelayerId, id: TransactionId) {
        return yield* views.one(yield* cancellations.publish(yield* senders.numberOf(relayerId), id))
      })

      const cancelPending = Effect.fn("Transactions.cancelPending")(function* (relayerId: RelayerId) {
        return yield* cancellations.cancelAll(yield* senders.numberOf(relayerId))
      })

      return Transactions.of({
        send,
        sendBatch,
        simulate,
        list,
        listAll,
        get,
        byNonce,
        explain,
        replace,
        cancel,
        cancelPending,
        publish
      })
    })
  )

  /** @internal */
  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide([Cursors.layer, EventFeed.layer, SecureRandom.layerWebCrypto])
  )
}
