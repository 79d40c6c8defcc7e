// Accepts, shows, replaces and cancels transactions. The feature `lanes` sends them.
import { Array as Arr, Context, DateTime, Effect, Layer, Result } from "effect"
import { SecureRandom } from "effect/crypto"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Items, Page } from "../../domain/request/Page.ts"
import { NotImplemented } from "../../domain/request/Request.ts"
import type { BadGateway, BadRequest } from "../../domain/request/Request.ts"
import type { TransactionConflict } from "../../domain/transaction/Cancellation.ts"
import type {
  ShownSimulation,
  ShownTransaction,
  TransactionBody,
  TransactionReplacement
} from "../../domain/transaction/Family.ts"
import type { TransactionId, TransactionNotFound } from "../../domain/transaction/TransactionId.ts"
import type { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import type {
  AllTransactionsQuery,
  CanceledTransactions,
  TransactionExplanation,
  TransactionQuery
} from "../../domain/transaction/TransactionRequests.ts"
import { Cursors } from "../cursors/Cursors.ts"
import { Ledger } from "../ledger/Ledger.ts"
import * as Acceptance from "./Acceptance.ts"
import type { Refusal } from "./Acceptance.ts"
import * as Cancellations from "./Cancellations.ts"
import * as Explanations from "./Explanations.ts"
import type { JsonBody } from "./Intake.ts"
import * as OwnTransactions from "./OwnTransactions.ts"
import * as Senders from "./Senders.ts"
import * as TransactionPages from "./TransactionPages.ts"
import * as Views from "./Views.ts"

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
    get(relayerId: RelayerId, id: TransactionId): Effect.Effect<ShownTransaction, Unknown>
    /** Fails with `NotImplemented` if the network type does not know transactions by a sequence. */
    byNonce(relayerId: RelayerId, nonce: number | bigint): Effect.Effect<ShownTransaction, Unknown | NotImplemented>
    explain(relayerId: RelayerId, id: TransactionId): Effect.Effect<TransactionExplanation, Unknown>
    replace(
      relayerId: RelayerId,
      id: TransactionId,
      replacement: TransactionReplacement | JsonBody
    ): Effect.Effect<ShownTransaction, Refusal | TransactionNotFound>
    /** Only the status `canceled` promises that the transaction has no effect. */
    cancel(
      relayerId: RelayerId,
      id: TransactionId
    ): Effect.Effect<ShownTransaction, Unknown | TransactionConflict | TransactionLimitExceeded>
    cancelPending(relayerId: RelayerId): Effect.Effect<CanceledTransactions, RelayerNotFound>
  }
>()("effect-relayer/server/transactions/Transactions") {
  /** @internal */
  static readonly layerNoDeps = Layer.effect(
    Transactions,
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const senders = yield* Senders.make
      const views = yield* Views.make
      const pages = yield* TransactionPages.make(senders)
      const accept = yield* Acceptance.make(senders)
      const explained = yield* Explanations.make
      const checkOwn = yield* OwnTransactions.make
      const cancellations = yield* Cancellations.make(checkOwn)

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

      const get = Effect.fn("Transactions.get")(function* (relayerId: RelayerId, id: TransactionId) {
        return yield* views.one(yield* ledger.get(yield* senders.numberOf(relayerId), id))
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
        yield* checkOwn(yield* ledger.get(relayerNumber, id))
        const given = yield* read.replacement(replacement)
        const now = DateTime.toEpochMillis(yield* DateTime.now)
        const { request, validUntil } = yield* intake.admitReplacement(given, sender, { now, limits, prefix: "" })
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
        return isRepeat && OwnTransactions.mayRead(yield* Caller.current, stored) ? stored : undefined
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

      const cancel = Effect.fn("Transactions.cancel")(function* (relayerId: RelayerId, id: TransactionId) {
        return yield* views.one(yield* cancellations.cancel(yield* senders.numberOf(relayerId), id))
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
        cancelPending
      })
    })
  )

  /** @internal */
  static readonly layer = this.layerNoDeps.pipe(Layer.provide([Cursors.layer, SecureRandom.layerWebCrypto]))
}
