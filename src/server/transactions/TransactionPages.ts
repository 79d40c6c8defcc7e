// Pages of transactions: by number with a total, and by cursor without one.
import { Array as Arr, DateTime, Effect, Schema } from "effect"
import type { TransactionStatus } from "../../domain/transaction/TransactionId.ts"
import { maxCountedTransactions } from "../../domain/transaction/Numbers.ts"
import type { State } from "../../domain/transaction/Transaction.ts"
import type {
  AllTransactionsQuery,
  TransactionFilter,
  TransactionQuery
} from "../../domain/transaction/TransactionRequests.ts"
import * as Caller from "../../domain/access/Caller.ts"
import { canonicalHash, hashFault } from "../../domain/chain/Address.ts"
import { RelayerId } from "../../domain/relayer/Relayer.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Items, Page } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { maxPageBytes } from "../../sql/Rows.ts"
import { Cursors } from "../cursors/Cursors.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { Filter, SelectedTransactions } from "../ledger/read/Selection.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import type { Senders } from "./Senders.ts"

const stateOf = (status: TransactionStatus): State => (status === "sent" ? "signed" : status)

const filterOf = (
  { status, code, held, hash, external_id, created_after, created_before, origin }: TransactionFilter,
  relayerNumbers: ReadonlyArray<number> | undefined
): Filter => ({
  ...(relayerNumbers === undefined ? {} : { relayerNumbers }),
  ...(status === undefined ? {} : { states: status.map(stateOf) }),
  ...(code === undefined ? {} : { codes: code }),
  ...(held === true ? { isHeld: held } : {}),
  ...(hash === undefined ? {} : { hash: canonicalHash(hash) }),
  ...(external_id === undefined ? {} : { externalId: external_id }),
  ...(created_after === undefined ? {} : { createdAfter: DateTime.toEpochMillis(created_after) }),
  ...(created_before === undefined ? {} : { createdBefore: DateTime.toEpochMillis(created_before) }),
  ...(origin === undefined ? {} : { origin })
})

const openStatuses: ReadonlySet<TransactionStatus> = new Set(["pending", "sent", "submitted", "mined"])

/** A final transaction keeps its code, and a list of final ones by code would read all of them. */
const checkCode = ({ code, held, status = [] }: TransactionFilter) =>
  (code === undefined && held !== true) || status.every((one) => openStatuses.has(one))
    ? Effect.void
    : Effect.fail(
        BadRequest.of([
          { field: "status", message: `must be ${[...openStatuses].join(", ")} together with code or held` }
        ])
      )

/** A page by number has to be whole: a caller that counts pages would miss what was left off. */
const tooLarge = (served: number) => {
  const message = `only ${served} of these transactions fit into ${maxPageBytes} bytes; ask for fewer, and follow the Link header`
  return BadRequest.of([{ field: "per_page", message }])
}

const readNumber = Schema.decodeUnknownEffect(Schema.Int)

/** A cursor belongs to one list with its filters. */
const listOf = (filter: Filter): string => JSON.stringify(["transactions", Object.entries(filter).sort()])

export type PageOrItems = Items<StoredTransaction> & Partial<Pick<Page<StoredTransaction>, "total" | "request">>

export const make = Effect.fnUntraced(function* (senders: Senders) {
  const ledger = yield* Ledger
  const cursors = yield* Cursors

  /** There is a next page if `found` has more transactions than fit into this one. */
  const withNext = Effect.fnUntraced(function* (
    filter: Filter,
    { transactions, isCut }: SelectedTransactions,
    limit: number
  ) {
    const items = transactions.slice(0, limit)
    const last = items.at(-1)
    if ((!isCut && transactions.length <= limit) || last === undefined) return { items }
    return { items, next: yield* cursors.make(listOf(filter), last.transaction.number) }
  })

  const afterCursor = Effect.fnUntraced(function* (filter: Filter, limit: number, cursor: string | undefined) {
    const after = cursor === undefined ? undefined : yield* cursors.read(listOf(filter), cursor)
    const position = after === undefined ? {} : { after: yield* Effect.orDie(readNumber(after)) }
    return yield* withNext(filter, yield* ledger.select({ filter, limit: limit + 1, ...position }), limit)
  })

  /** Pages beyond the counted transactions are empty. */
  const numbered = Effect.fnUntraced(function* (filter: Filter, query: TransactionQuery) {
    const request = pageRequest(query)
    const { perPage, offset } = request
    const total = yield* ledger.count(filter)
    if (perPage === 0 || offset >= Math.min(total, maxCountedTransactions)) return { items: [], total, request }
    const found = yield* ledger.select({ filter, limit: perPage + 1, offset })
    const served = found.transactions.length
    if (found.isCut && served < perPage) return yield* tooLarge(served)
    return { ...(yield* withNext(filter, found, perPage)), total, request }
  })

  const list = Effect.fnUntraced(function* (
    relayerId: RelayerId,
    { page, cursor, ...query }: TransactionQuery
  ): Effect.fn.Return<PageOrItems, BadRequest | Effect.Error<ReturnType<Senders["numberOf"]>>> {
    const fault = query.hash === undefined ? undefined : hashFault(yield* senders.typeOf(relayerId), query.hash)
    if (fault !== undefined) return yield* BadRequest.of([{ field: "hash", message: fault }])
    const filter = filterOf(query, [yield* senders.numberOf(relayerId)])
    yield* checkCode(query)
    if (cursor === undefined) return yield* numbered(filter, { ...query, ...(page === undefined ? {} : { page }) })
    if (page !== undefined) return yield* BadRequest.of([{ field: "page", message: "cannot be given with a cursor" }])
    return yield* afterCursor(filter, pageRequest(query).perPage, cursor)
  })

  /** The wanted relayers that the caller can use; those that do not exist are left out. Undefined: all relayers. */
  const numbersFor = Effect.fnUntraced(function* (wanted: ReadonlyArray<RelayerId> | undefined) {
    const caller = yield* Caller.current
    const ids = (wanted ?? caller.relayerIds)?.filter((id) => Caller.mayUseRelayer(caller, id))
    if (ids === undefined) return undefined
    const found = yield* Effect.forEach(ids, (id) => Effect.option(senders.numberOf(RelayerId.make(id))), {
      concurrency: "unbounded"
    })
    return Arr.getSomes(found)
  })

  const listAll = Effect.fnUntraced(function* ({ relayer_id, cursor, ...query }: AllTransactionsQuery) {
    yield* checkCode(query)
    const filter = filterOf(query, yield* numbersFor(relayer_id))
    return yield* afterCursor(filter, pageRequest(query).perPage, cursor)
  })

  return { list, listAll }
})
