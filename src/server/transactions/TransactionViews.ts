// What callers see of transactions: each as responses show it, pages by number or by cursor, why one is in its state, and statistics.
import { Array as Arr, Cache, Clock, DateTime, Effect, Option, Schema } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import { sentenceOf } from "../../domain/health/Funding.ts"
import { networkId } from "../../domain/network/Network.ts"
import { RelayerId, RelayerNotFound, unitOf } from "../../domain/relayer/Relayer.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { filled, pageRequest, seriesOf } from "../../domain/request/Page.ts"
import type { Items, Page, Series } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { cause, waits } from "../../networks/core/Cause.ts"
import type { Cause, Code, Words } from "../../networks/core/Cause.ts"
import type { ShownTransaction } from "../../networks/core/Family.ts"
import { shownAttempt, statusOf } from "../../networks/core/Presentation.ts"
import type { Identity } from "../../networks/core/Presentation.ts"
import { isFinal } from "../../networks/core/Transaction.ts"
import type { State } from "../../networks/core/Transaction.ts"
import { longestCounted, longestStatistics, sumStep } from "../../networks/core/TransactionRequests.ts"
import type {
  AllTransactionsQuery,
  StatisticsQuery,
  TransactionExplanation,
  TransactionFilter,
  TransactionQuery,
  TransactionStatistics
} from "../../networks/core/TransactionRequests.ts"
import { maxCountedTransactions } from "../../networks/core/TransactionValues.ts"
import type { Moment, TransactionStatus } from "../../networks/core/TransactionValues.ts"
import { maxPageBytes } from "../../sql/Rows.ts"
import { Cursors } from "../cursors/Cursors.ts"
import { RelayerHealth } from "../health/RelayerHealth.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { LedgerRules } from "../ledger/LedgerEntries.ts"
import type { AttemptBytes, StoredLane, StoredTransaction } from "../ledger/LedgerEntries.ts"
import type { Filter, SelectedTransactions } from "../ledger/LedgerReads.ts"
import { RelayerTargets } from "../relayers/RelayerTargets.ts"
import { Relayers } from "../relayers/Relayers.ts"
import { canonicalHash, hashFault } from "../../domain/chain/Amount.ts"
import type { Senders } from "./Intake.ts"

const stateOf = (status: TransactionStatus): State => (status === "sent" ? "signed" : status)

const filterOf = (
  { status, code, held, hash, external_id, created_after, created_before, origin }: TransactionFilter,
  relayerNumbers: ReadonlyArray<number> | undefined
): Filter => ({
  ...(relayerNumbers === undefined ? {} : { relayerNumbers }),
  ...(status === undefined ? {} : { states: status.map(stateOf) }),
  ...(code === undefined ? {} : { codes: code }),
  ...(held === true ? { isHeld: held } : {}),
  ...(hash === undefined ? {} : { hashes: [canonicalHash(hash)] }),
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

export const makePages = Effect.fnUntraced(function* (senders: Senders) {
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

// Transactions of the ledger as responses show them.

const keyOf = ({ id, ordinal }: Pick<AttemptBytes, "id" | "ordinal">): string => `${id}/${ordinal}`

type Extent = Pick<Identity, "isWhole">

const shownBytes = ({ id, transaction }: StoredTransaction) => {
  const attempt = shownAttempt(transaction)
  return attempt === undefined ? [] : [{ id, ordinal: attempt.ordinal }]
}

export const makeViews = Effect.gen(function* () {
  const ledger = yield* Ledger
  const networks = yield* LedgerRules

  const viewOf = (stored: StoredTransaction & Extent, raw: Uint8Array | undefined): ShownTransaction =>
    networks.of(stored.chain).rules.show(stored.transaction, stored, raw)

  const many = Effect.fnUntraced(function* (stored: ReadonlyArray<StoredTransaction & Extent>) {
    const wanted = stored.flatMap(shownBytes)
    const found = wanted.length === 0 ? [] : yield* ledger.bytes(wanted)
    const raws = new Map(found.map((bytes) => [keyOf(bytes), bytes.raw]))
    return stored.map((one) => viewOf(one, shownBytes(one).map((bytes) => raws.get(keyOf(bytes)))[0]))
  })

  /** The view with the large parts that lists leave out. */
  const one = (stored: StoredTransaction) => {
    const whole = { ...stored, isWhole: true }
    return Effect.map(many([whole]), ([view]) => view ?? viewOf(whole, undefined))
  }

  return { one, many }
})

// Why a transaction waits for the one in front of it in its lane, at the moment of the answer.

/** A cause, and since when. */
export interface CauseSince {
  readonly why: Cause
  readonly since: Moment
}

const makePredecessors = Effect.gen(function* () {
  const ledger = yield* Ledger
  const networks = yield* LedgerRules

  const find = Effect.fnUntraced(function* ({ laneId, id }: StoredTransaction, front: "in_flight" | "pending") {
    return front === "in_flight"
      ? yield* ledger.firstInFlight(laneId)
      : yield* ledger.firstPendingBelow(laneId, id, yield* Clock.currentTimeMillis)
  })

  /** Undefined: it waits for no other, or none is found. The id is left out if the caller cannot use the relayer. */
  return Effect.fnUntraced(function* (stored: StoredTransaction): Effect.fn.Return<CauseSince | undefined> {
    const { transaction, chain } = stored
    const { predecessors } = networks.of(chain).rules
    const wanted = predecessors?.frontOf(transaction)
    const front = wanted === undefined ? Option.none() : yield* find(stored, wanted)
    if (Option.isNone(front)) return undefined
    const { id, relayerId } = front.value
    const shownId = Caller.mayUseRelayer(yield* Caller.current, relayerId) ? id : undefined
    const why = predecessors?.causeBehind(transaction, front.value.transaction, shownId)
    if (why === undefined) return undefined
    const { causeSince } = transaction
    const isSame = why.code === transaction.cause?.code
    return { why, since: isSame ? causeSince : Math.max(causeSince, front.value.transaction.causeSince) }
  })
})

// Why a transaction is in its state, since when, and what happens next.

const instant = (moment: Moment): DateTime.Utc => DateTime.makeUnsafe(moment)

/** Figures that change with every block, as they are now. */
const withDepth = (why: Cause, height: number | undefined): Cause => {
  const { block, required_blocks = Infinity } = why.figures
  if (block === undefined || height === undefined) return why
  // Between two polls the row stays open, however many blocks there are.
  return { ...why, figures: { ...why.figures, blocks: Math.min(Math.max(height - block, 0), required_blocks) } }
}

const missingOf = ({ required = 0n, available = 0n, minimum = 0n }: Cause["figures"]): bigint =>
  required + minimum > available ? required + minimum - available : 0n

/** Before the first check, the balance of the relayer is not known. */
const sendAtLeast = (missing: bigint, { address, network, network_type }: Relayer): string =>
  `Send at least ${missing} ${unitOf[network_type]} to ${address} on ${networkId(network_type, network)}.`

export const makeExplanations = Effect.gen(function* () {
  const ledger = yield* Ledger
  const networks = yield* LedgerRules
  const targets = yield* RelayerTargets
  const predecessors = yield* makePredecessors
  const health = yield* RelayerHealth

  /** A transaction behind others of a paused relayer waits for the same. */
  const queued = Effect.fnUntraced(function* ({ id, laneId, relayerId }: StoredTransaction) {
    const target = yield* Effect.option(targets.get(relayerId))
    if (Option.isSome(target) && target.value.relayer.paused) return cause("relayer_paused")
    return cause("queued", { position: yield* ledger.ahead(laneId, id) })
  })

  /** The first transaction that has to go before this one, if it waits for something that is missing. */
  const stopping = Effect.fnUntraced(function* ({ id, laneId }: StoredTransaction, code: Code) {
    const first =
      code === "queued"
        ? yield* ledger.firstAhead(laneId, id)
        : code === "lane_window_full"
          ? yield* ledger.firstInFlight(laneId)
          : Option.none()
    return Option.getOrUndefined(Option.filter(first, ({ transaction }) => waits(transaction.cause?.code ?? "queued")))
  })

  /** The sentences of a transaction that one in front stops. Callers that cannot use the relayer of that one see its code alone. */
  const behind = Effect.fnUntraced(function* (words: Words, { chain, id, relayerId, transaction }: StoredTransaction) {
    const why = transaction.cause ?? cause("queued")
    if (!Caller.mayUseRelayer(yield* Caller.current, relayerId)) {
      return { ...words, reason: `${words.reason} The first of them is another transaction with code ${why.code}.` }
    }
    const { reason } = networks.of(chain).rules.explain(why, false)
    return {
      reason: `${words.reason} The first of them, transaction ${id}, waits: ${reason.replace(/^The /u, "that ")}`,
      next: `The transaction goes on when transaction ${id} does, or ends. ${words.next}`
    }
  })

  const frontFigures = Effect.fnUntraced(function* ({ id, relayerId, transaction }: StoredTransaction) {
    const isShown = Caller.mayUseRelayer(yield* Caller.current, relayerId)
    return { front_code: transaction.cause?.code ?? "queued", ...(isShown ? { front_id: id } : {}) }
  })

  const withFigures = Effect.fnUntraced(function* (stored: StoredTransaction, why: Cause, of: StoredLane) {
    const {
      chain,
      lane: { accounts, windowSize }
    } = of
    switch (why.code) {
      case "queued":
        return yield* queued(stored)
      case "mined_waiting":
      case "reverted_unconfirmed":
        return withDepth(why, accounts[0].chainBlock?.number)
      case "lane_window_full": {
        const { inFlight } = yield* ledger.countLane({ address: accounts[0].address, chain })
        return cause("lane_window_full", { window: windowSize, in_flight: inFlight })
      }
      default:
        return why
    }
  })

  const waitingOf = Effect.fnUntraced(function* (
    stored: StoredTransaction,
    lane: Option.Option<StoredLane>
  ): Effect.fn.Return<CauseSince> {
    const why = stored.transaction.cause ?? cause("queued")
    const since = stored.transaction.causeSince
    if (Option.isNone(lane)) return { why, since }
    // Only the first transaction of a lane that has stopped is decided about.
    const { code, codeSince } = lane.value
    const isStopped = code === "chain_changed" && why.code !== code && stored.transaction.state === "pending"
    if (isStopped && !stored.transaction.restored) return { why: cause(code), since: codeSince ?? since }
    return (yield* predecessors(stored)) ?? { why: yield* withFigures(stored, why, lane.value), since }
  })

  const wordsOf = Effect.fnUntraced(function* ({ chain, relayerId }: StoredTransaction, why: Cause, ended: boolean) {
    const words = networks.of(chain).rules.explain(why, ended)
    if (ended || why.code !== "insufficient_funds") return words
    const missing = missingOf(why.figures)
    const target = yield* Effect.option(targets.get(relayerId))
    if (missing === 0n || Option.isNone(target)) return words
    // The same sum as in the explanation of the relayer.
    const funding = yield* Effect.orElseSucceed(health.funding(relayerId, missing), () => undefined)
    const sum = funding === undefined ? sendAtLeast(missing, target.value.relayer) : sentenceOf(funding)
    return { ...words, next: `${sum} ${words.next}` }
  })

  return Effect.fnUntraced(function* (stored: StoredTransaction) {
    const { transaction, laneId } = stored
    const ended = isFinal(transaction)
    const lane = ended ? Option.none() : yield* ledger.laneById(laneId)
    const { why, since } = yield* waitingOf(stored, lane)
    const now = yield* Clock.currentTimeMillis
    const front = ended ? undefined : yield* stopping(stored, why.code)
    const words = yield* wordsOf(stored, why, ended)
    const explanation: TransactionExplanation = {
      status: statusOf(transaction.state),
      code: why.code,
      ...(front === undefined ? words : yield* behind(words, front)),
      figures: front === undefined ? why.figures : { ...why.figures, ...(yield* frontFigures(front)) },
      since: instant(since),
      ...(Option.isNone(lane) ? {} : { next_at: instant(Math.max(lane.value.nextPollAt, now)) })
    }
    return explanation
  })
})

// Statistics of transactions over time. Pages ask repeatedly, so callers that see the same transactions share a result.

const timeToLive = "2 seconds"

/** Results in memory. */
const capacity = 100

const unsummed = BadRequest.of([
  {
    field: "step",
    message: `must be a multiple of ${sumStep / 1000} seconds if \`since\` is more than ${longestCounted / 3_600_000} hours ago`
  }
])

/** JSON, so that equal questions share a result. */
interface Counting {
  readonly series: Series
  /** Whether the series is too long to count transactions. */
  readonly isSummed: boolean
  /** Absent: of all relayers. */
  readonly relayers?: ReadonlyArray<number>
}

export const makeStatistics = Effect.gen(function* () {
  const ledger = yield* Ledger
  const relayers = yield* Relayers

  const count = Effect.fn("Statistics.count")(function* ({ series, isSummed, relayers }: Counting) {
    const rows = yield* isSummed ? ledger.summedSteps(series, relayers) : ledger.finalSteps(series, relayers)
    const statistics: TransactionStatistics = {
      steps: filled(series, rows, (row) => {
        const { at: _, p50_ms, p95_ms, ...final } = row ?? { at: 0, confirmed: 0, failed: 0, canceled: 0, expired: 0 }
        return { final, ...(p50_ms === undefined ? {} : { p50_ms }), ...(p95_ms === undefined ? {} : { p95_ms }) }
      }),
      open: yield* ledger.openSummary(relayers)
    }
    return statistics
  })

  const counted = yield* Cache.make({
    capacity,
    timeToLive,
    lookup: (counting: string) => count(JSON.parse(counting) as Counting)
  })

  /** The existing relayers of the caller. Undefined: the caller sees all relayers. */
  const numbersFor = Effect.fnUntraced(function* (wanted: RelayerId | undefined) {
    const caller = yield* Caller.current
    if (wanted !== undefined) {
      if (!Caller.mayUseRelayer(caller, wanted)) return yield* new RelayerNotFound({})
      return [yield* relayers.numberOf(wanted)]
    }
    if (caller.relayerIds === undefined) return undefined
    const found = yield* Effect.forEach(
      caller.relayerIds,
      (id) => Effect.option(relayers.numberOf(RelayerId.make(id))),
      { concurrency: "unbounded" }
    )
    return Arr.getSomes(found)
  })

  const get = Effect.fn("Statistics.get")(function* ({ relayer_id, ...query }: StatisticsQuery) {
    const numbers = yield* numbersFor(relayer_id)
    const now = yield* Clock.currentTimeMillis
    const series = yield* seriesOf(query, now, longestStatistics)
    const isSummed = query.since !== undefined && now - DateTime.toEpochMillis(query.since) > longestCounted
    if (isSummed && series.step % sumStep !== 0) return yield* unsummed
    const counting: Counting = { series, isSummed, ...(numbers === undefined ? {} : { relayers: numbers }) }
    return yield* Cache.get(counted, JSON.stringify(counting))
  })

  return { get }
})
