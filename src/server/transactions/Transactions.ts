// Transactions: accepted, shown, replaced and canceled. `lanes` sends them.
import { Array as Arr, Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type { Items, Page } from "../../domain/request/Page.ts"
import type { BadRequest, NotImplemented } from "../../domain/request/Request.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { RelayerPaused } from "../../domain/transaction/AcceptanceErrors.ts"
import type { TransactionConflict } from "../../domain/transaction/Cancellation.ts"
import type { ShownTransaction } from "../../domain/transaction/Family.ts"
import type { TransactionId, TransactionNotFound } from "../../domain/transaction/TransactionId.ts"
import type {
  ReplaceEvmTransaction,
  SendBatch,
  SendEvmTransaction
} from "../../domain/transaction/evm/SendEvmTransaction.ts"
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
import * as Checks from "./Checks.ts"
import * as Explanations from "./Explanations.ts"
import * as ReplacedFees from "./ReplacedFees.ts"
import * as Senders from "./Senders.ts"
import * as TransactionPages from "./TransactionPages.ts"
import * as Views from "./Views.ts"

type Refused =
  | RelayerNotFound
  | NotImplemented
  | BadRequest
  | RelayerPaused
  | TransactionLimitExceeded
  | TransactionConflict
  | TooManyRequests

type Unknown = RelayerNotFound | TransactionNotFound

/** The number of cancels of one request that run concurrently. */
const concurrentCancels = 8

export class Transactions extends Context.Service<
  Transactions,
  {
    /** Stores the transaction, or returns the one with the same `external_id` and body. */
    send(relayerId: RelayerId, request: SendEvmTransaction): Effect.Effect<ShownTransaction, Refused>
    /** Accepts all or none. */
    sendBatch(relayerId: RelayerId, batch: SendBatch): Effect.Effect<ReadonlyArray<ShownTransaction>, Refused>
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
    byNonce(relayerId: RelayerId, nonce: number): Effect.Effect<ShownTransaction, Unknown>
    explain(relayerId: RelayerId, id: TransactionId): Effect.Effect<TransactionExplanation, Unknown>
    replace(
      relayerId: RelayerId,
      id: TransactionId,
      request: ReplaceEvmTransaction
    ): Effect.Effect<ShownTransaction, Refused | TransactionNotFound>
    /** Only the status `canceled` promises that the transaction has no effect. */
    cancel(relayerId: RelayerId, id: TransactionId): Effect.Effect<ShownTransaction, Unknown | TransactionConflict>
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
      const checkFees = yield* ReplacedFees.make

      const send = Effect.fn("Transactions.send")(function* (relayerId: RelayerId, request: SendEvmTransaction) {
        const [stored] = yield* accept(relayerId, [request], () => "")
        return yield* views.one(stored)
      })

      const sendBatch = Effect.fn("Transactions.sendBatch")(function* (relayerId: RelayerId, batch: SendBatch) {
        const { transactions } = batch
        if (!Arr.isReadonlyArrayNonEmpty(transactions)) return []
        return yield* views.many(yield* accept(relayerId, transactions, (index) => `transactions.${index}.`))
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

      const byNonce = Effect.fn("Transactions.byNonce")(function* (relayerId: RelayerId, nonce: number) {
        return yield* views.one(yield* ledger.bySequence(yield* senders.numberOf(relayerId), BigInt(nonce)))
      })

      const explain = Effect.fn("Transactions.explain")(function* (relayerId: RelayerId, id: TransactionId) {
        return yield* explained(yield* ledger.get(yield* senders.numberOf(relayerId), id))
      })

      const replace = Effect.fn("Transactions.replace")(function* (
        relayerId: RelayerId,
        id: TransactionId,
        request: ReplaceEvmTransaction
      ) {
        const { sender, limits } = yield* senders.getLimited(relayerId)
        yield* Checks.admit(request, sender, limits)
        const { relayerNumber } = sender.account
        const { network_type } = sender.relayer
        yield* checkFees(yield* Caller.current, network_type, yield* ledger.get(relayerNumber, id))
        const validUntil = Checks.deadlineIn(request)
        return yield* views.one(yield* ledger.replace(relayerNumber, id, Checks.requestOf(request), validUntil))
      })

      const cancel = Effect.fn("Transactions.cancel")(function* (relayerId: RelayerId, id: TransactionId) {
        return yield* views.one(yield* ledger.cancel(yield* senders.numberOf(relayerId), id))
      })

      /** Reports transactions that were mined or became final meanwhile, and cancels the others. */
      const cancelPending = Effect.fn("Transactions.cancelPending")(function* (relayerId: RelayerId) {
        const number = yield* senders.numberOf(relayerId)
        const ids = yield* ledger.openIds(number)
        const [queued, failed] = yield* Effect.partition(
          ids,
          (id) => Effect.mapError(Effect.as(ledger.cancel(number, id), id), () => id),
          { concurrency: concurrentCancels }
        )
        return {
          queued_for_cancellation_transaction_ids: queued,
          failed_to_queue_transaction_ids: failed,
          total_processed: ids.length
        }
      })

      return Transactions.of({ send, sendBatch, list, listAll, get, byNonce, explain, replace, cancel, cancelPending })
    })
  )

  /** @internal */
  static readonly layer = this.layerNoDeps.pipe(Layer.provide([Cursors.layer, SecureRandom.layerWebCrypto]))
}
