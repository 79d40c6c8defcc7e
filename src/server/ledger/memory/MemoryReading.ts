// What a ledger in memory shows to callers.
import { Clock, DateTime, Effect, Option } from "effect"
import type { Series } from "../../../domain/request/Page.ts"
import { waits } from "../../../networks/core/Cause.ts"
import { present } from "../../../networks/core/Presentation.ts"
import { reservationOf } from "../../../networks/core/Queue.ts"
import type { LaneKey } from "../../../networks/core/Rules.ts"
import { isSameWatched } from "../../../networks/core/Transaction.ts"
import type { State, Watched } from "../../../networks/core/Transaction.ts"
import { maxCountedTransactions, TransactionNotFound } from "../../../networks/core/TransactionValues.ts"
import type { Moment, TransactionId } from "../../../networks/core/TransactionValues.ts"
import { usualCodes } from "../../../networks/core/Transition.ts"
import { feePeriod } from "../AcceptanceChecks.ts"
import type { LimitKey } from "../AcceptanceChecks.ts"
import type { LaneCounts, LaneId } from "../LedgerEntries.ts"
import type { Filter, RelayerOnNetwork, Selection } from "../LedgerReads.ts"
import type { OpenRequest, PastDays } from "../RelayerTransactionsRepo.ts"
import type { FinalStep, OpenSummary } from "../StatisticsRepo.ts"
import { feesSince, hasPlace, isOpen, LedgerMemory } from "./LedgerMemory.ts"
import type { TransactionRow } from "./LedgerMemory.ts"

const day = 86_400_000

const isUsual: ReadonlySet<string> = new Set(usualCodes)

const codeOf = ({ stored }: TransactionRow): string => stored.transaction.cause?.code ?? ""

const turnOf = ({ stored: { transaction } }: TransactionRow): Moment =>
  Math.max(transaction.createdAt, transaction.notBefore ?? transaction.createdAt)

const byTurn = (one: TransactionRow, other: TransactionRow): number =>
  other.stored.transaction.priority - one.stored.transaction.priority ||
  turnOf(one) - turnOf(other) ||
  one.stored.transaction.number - other.stored.transaction.number

const isSelected = (row: TransactionRow, filter: Filter): boolean => {
  const { relayerNumbers, states = [], codes, isHeld, hashes, externalId, createdAfter, createdBefore } = filter
  const { stored } = row
  const { attempts, createdAt, origin, relayerNumber, state } = stored.transaction
  return (
    origin === (filter.origin ?? "request") &&
    (relayerNumbers === undefined || relayerNumbers.includes(relayerNumber)) &&
    (states.length === 0 || states.includes(state)) &&
    (codes === undefined || (isOpen(row) && codes.includes(codeOf(row)))) &&
    (isHeld === undefined || (isOpen(row) && !isUsual.has(codeOf(row)))) &&
    (hashes === undefined || attempts.some((attempt) => hashes.includes(attempt.hash))) &&
    (externalId === undefined || stored.externalId === externalId) &&
    (createdAfter === undefined || createdAt >= createdAfter) &&
    (createdBefore === undefined || createdAt < createdBefore)
  )
}

/** The smallest value that a share of all does not exceed. Undefined: there is none. */
const percentile = (sorted: ReadonlyArray<number>, share: number): number | undefined =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]

const stepOf = (at: number, rows: ReadonlyArray<TransactionRow>): FinalStep => {
  const count = (state: State) => rows.filter(({ stored }) => stored.transaction.state === state).length
  const durations = rows
    .filter(({ stored }) => stored.transaction.state === "confirmed")
    .map(({ stored, finalAt = 0 }) => Math.max(0, finalAt - stored.transaction.createdAt))
    .toSorted((one, other) => one - other)
  return {
    at,
    confirmed: count("confirmed"),
    failed: count("failed"),
    canceled: count("canceled"),
    expired: count("expired"),
    ...present("p50_ms", percentile(durations, 0.5)),
    ...present("p95_ms", percentile(durations, 0.95))
  }
}

export const make = Effect.gen(function* () {
  const { rows } = yield* LedgerMemory

  const read = <A>(compute: (now: Moment) => A): Effect.Effect<A> => Effect.map(Clock.currentTimeMillis, compute)
  const storedOf = (row: TransactionRow | undefined) => Option.fromUndefinedOr(row?.stored)
  const ofRelayer = (relayerNumber: number) =>
    rows.all().filter(({ stored }) => stored.transaction.relayerNumber === relayerNumber)
  const requests = (relayers: ReadonlyArray<number> | undefined) =>
    rows
      .all()
      .filter(
        ({ stored: { transaction } }) =>
          transaction.origin === "request" && (relayers === undefined || relayers.includes(transaction.relayerNumber))
      )

  const found = (row: TransactionRow | undefined) =>
    row === undefined ? Effect.fail(new TransactionNotFound({})) : Effect.succeed(row.stored)

  const get = (relayerNumber: number, id: TransactionId) =>
    Effect.suspend(() => found(ofRelayer(relayerNumber).find(({ stored }) => stored.id === id)))

  /** A sequence of the account of the lane wins over the same sequence of a channel. */
  const bySequence = (relayerNumber: number, sequence: bigint) =>
    Effect.suspend(() => {
      const all = ofRelayer(relayerNumber)
      const lane = rows.tables().accounts.get(all.at(-1)?.stored.laneId ?? (0 as LaneId))
      const there = all.filter(
        ({ stored: { laneId, transaction } }) =>
          laneId === lane?.id && transaction.generation === lane.generation && transaction.place?.sequence === sequence
      )
      return found(there.find(({ stored }) => stored.transaction.place?.account === lane?.address) ?? there[0])
    })

  const select = ({ filter, limit, after = Infinity, offset = 0 }: Selection) =>
    read(() => ({
      transactions: rows
        .all()
        .filter((row) => row.stored.transaction.number < after && isSelected(row, filter))
        .toReversed()
        .slice(offset, offset + limit)
        .map(({ stored }) => stored),
      isCut: false
    }))

  const count = (filter: Filter) =>
    read(() => Math.min(maxCountedTransactions, rows.all().filter((row) => isSelected(row, filter)).length))

  const cancelable = (relayerNumber: number) =>
    read(() =>
      requests([relayerNumber])
        .filter((row) => isOpen(row) && row.stored.transaction.state !== "mined")
        .map(({ stored: { id, apiKeyId } }): OpenRequest => ({ id, ...present("apiKeyId", apiKeyId) }))
    )

  const countChannelsAt = (address: string, chain?: string) =>
    rows
      .accounts()
      .filter((row) => row.address === address && (chain === undefined || row.chain === chain))
      .reduce((sum, { id }) => sum + rows.channelsOf(id).length, 0)

  const keyOf = (of: RelayerOnNetwork): LaneKey | undefined => {
    const { rules } = rows.rules.of(of.relayer.network_type)
    const target = rules.targetOf(of)
    return target === undefined ? undefined : rules.laneOf(target)
  }

  const laneOf = (key: LaneKey | undefined) => (key === undefined ? undefined : rows.find(key))

  const shortageOf = (row: TransactionRow): bigint => {
    const { required, minimum = 0n, available = 0n } = row.stored.transaction.cause?.figures ?? {}
    if (!isOpen(row) || codeOf(row) !== "insufficient_funds" || required === undefined) return 0n
    return BigInt(required) + BigInt(minimum) - BigInt(available)
  }

  const largestShortage = (relayerNumber: number) =>
    read(() =>
      ofRelayer(relayerNumber)
        .map(shortageOf)
        .reduce((most, one) => (one > most ? one : most), 0n)
    )

  const countFinalByDay = (relayerNumber: number, { now, days, limit }: PastDays) =>
    read(() => {
      const newest = requests([relayerNumber])
        .filter((row) => !isOpen(row) && row.stored.transaction.createdAt > now - days * day)
        .slice(-limit)
      const agesOf = newest.map(({ stored }) => Math.floor((now - stored.transaction.createdAt) / day))
      return Array.from({ length: days }, (_, index) => agesOf.filter((age) => Math.max(age, 0) === index).length)
    })

  const finalSteps = ({ since, step }: Series, relayers: ReadonlyArray<number> | undefined) =>
    read(() => {
      const final = requests(relayers).filter(({ finalAt = -Infinity }) => finalAt >= since)
      const steps = Map.groupBy(final, ({ finalAt = 0 }) => Math.floor(finalAt / step) * step)
      return [...steps].map(([at, some]) => stepOf(at, some))
    })

  const openSummary = (relayers: ReadonlyArray<number> | undefined) =>
    read((): OpenSummary => {
      const open = requests(relayers).filter(isOpen)
      const moments = open.map(({ stored }) => stored.transaction.createdAt)
      const pending = open.filter(({ stored }) => stored.transaction.state === "pending").length
      return {
        pending,
        in_flight: open.length - pending,
        held: open.filter((row) => !isUsual.has(codeOf(row))).length,
        ...(moments.length === 0 ? {} : { oldest_at: DateTime.makeUnsafe(Math.min(...moments)) })
      }
    })

  const lastConfirmed = (relayerNumber: number) =>
    read(() =>
      Option.fromUndefinedOr(
        requests([relayerNumber]).findLast(({ stored }) => stored.transaction.state === "confirmed")?.finalAt
      )
    )

  const countLane = (key: LaneKey) =>
    read((): LaneCounts => {
      const lane = rows.find(key)
      const open = lane === undefined ? [] : rows.of(lane.id).filter(isOpen)
      const placed = open.filter(hasPlace)
      const sequences = placed.flatMap(({ stored }) => stored.transaction.place?.sequence ?? [])
      const [first] = sequences.toSorted((one, other) => (one < other ? -1 : 1))
      return { pending: open.length - placed.length, inFlight: placed.length, ...present("oldestSequence", first) }
    })

  const channelPlaces = (lane: LaneId) =>
    read(
      () =>
        new Map(
          rows.of(lane).flatMap((row) => {
            const { id, from, transaction } = row.stored
            const { account = from, sequence } = transaction.place ?? {}
            return hasPlace(row) && account !== from && sequence !== undefined ? [[account, id] as const] : []
          })
        )
    )

  const reserved = (key: LaneKey, height?: number) =>
    read((now) => {
      const lane = rows.find(key)
      if (lane === undefined) return 0n
      const { rules } = rows.rules.of(lane.chain)
      const inFlight = rows
        .of(lane.id)
        .filter(({ stored: { transaction } }) => transaction.state === "signed" || transaction.state === "submitted")
      return inFlight.reduce(
        (sum, { stored }) => sum + reservationOf(rules, stored.transaction),
        rows.givenCost(lane, now, height) ?? 0n
      )
    })

  /** Pending transactions of the lane of `id` besides it. */
  const othersOf = (lane: LaneId, id: TransactionId) => {
    const own = rows.of(lane).find(({ stored }) => stored.id === id)
    const others = rows
      .of(lane)
      .filter(
        ({ stored }) => stored.id !== id && stored.transaction.state === "pending" && !stored.transaction.restored
      )
    return own === undefined ? undefined : { own, others }
  }

  const ahead = (lane: LaneId, id: TransactionId) =>
    read(() => {
      const found = othersOf(lane, id)
      return found === undefined ? 0 : found.others.filter((other) => byTurn(other, found.own) < 0).length
    })

  const firstInFlight = (lane: LaneId) =>
    read(() => {
      const isMined = ({ stored }: TransactionRow) => Number(stored.transaction.state === "mined")
      const sequenceOf = ({ stored }: TransactionRow) => stored.transaction.place?.sequence
      const bySequence = (one: TransactionRow, other: TransactionRow) => {
        const [first, second] = [sequenceOf(one), sequenceOf(other)]
        if (first === undefined || second === undefined)
          return Number(first === undefined) - Number(second === undefined)
        return first < second ? -1 : 1
      }
      const placed = rows.of(lane).filter(hasPlace)
      return storedOf(placed.toSorted((one, other) => isMined(one) - isMined(other) || bySequence(one, other))[0])
    })

  const firstPendingBelow = (lane: LaneId, id: TransactionId, now: Moment) =>
    read(() => {
      const { own, others = [] } = othersOf(lane, id) ?? {}
      const { requiredSequence } = own?.stored.transaction ?? {}
      const isBelow = (row: TransactionRow) =>
        requiredSequence !== undefined &&
        turnOf(row) <= now &&
        (row.stored.transaction.requiredSequence ?? -1n) < requiredSequence
      return storedOf(others.filter(isBelow).toSorted(byTurn)[0])
    })

  const firstAhead = (lane: LaneId, id: TransactionId) =>
    read(() => {
      const { own, others = [] } = othersOf(lane, id) ?? {}
      return storedOf(others.filter((other) => own !== undefined && byTurn(other, own) < 0).toSorted(byTurn)[0])
    })

  const firstWaiting = (relayerNumber: number) =>
    read(() =>
      storedOf(
        ofRelayer(relayerNumber)
          .filter((row) => isOpen(row) && waits(row.stored.transaction.cause?.code ?? "queued"))
          .toSorted((one, other) => one.stored.transaction.number - other.stored.transaction.number)[0]
      )
    )

  return {
    get,
    bySequence,
    select,
    count,
    cancelable,
    countOpen: (relayerNumber: number) => read(() => ofRelayer(relayerNumber).filter(isOpen).length),
    countChannels: (address: string) => read(() => countChannelsAt(address)),
    countChannelsOf: (of: RelayerOnNetwork) =>
      read(() => {
        const key = keyOf(of)
        return key === undefined ? 0 : countChannelsAt(key.address, key.chain)
      }),
    excluding: (key: LaneKey, exclusive: string) =>
      read(() =>
        Option.fromUndefinedOr(
          rows
            .all()
            .find((row) => row.stored.laneId === rows.find(key)?.id && isOpen(row) && row.exclusive === exclusive)
            ?.stored
        )
      ),
    watch: (key: LaneKey, before: Watched | undefined, watched: Watched) =>
      read(() => {
        const row = rows.find(key)
        if (row === undefined || !isSameWatched(row.account.watched, before)) return false
        rows.setAccount({ ...row, account: { ...row.account, watched } })
        return true
      }),
    laneCodeOf: (of: RelayerOnNetwork) => read(() => laneOf(keyOf(of))?.code),
    laneOn: (of: RelayerOnNetwork) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const row = laneOf(keyOf(of))
        return row === undefined ? Option.none() : Option.some(rows.laneOf(row, now))
      }),
    largestShortage,
    countFinalByDay,
    finalSteps,
    /** Nothing is summed in advance. */
    summedSteps: finalSteps,
    openSummary,
    lastConfirmed,
    feesOfLastDay: (limit: LimitKey) => read((now) => feesSince(rows.tables(), limit, now - feePeriod)),
    laneById: (id: LaneId) =>
      read((now) => Option.map(Option.fromUndefinedOr(rows.tables().accounts.get(id)), (row) => rows.laneOf(row, now))),
    laneOf: (key: LaneKey) =>
      read((now) => Option.map(Option.fromUndefinedOr(rows.find(key)), (row) => rows.laneOf(row, now))),
    countLane,
    channelPlaces,
    reserved,
    ahead,
    firstInFlight,
    firstPendingBelow,
    firstAhead,
    firstWaiting
  }
})
