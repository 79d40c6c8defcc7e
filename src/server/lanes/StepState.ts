// What one step of a held lane works on, with what API keys have left for fees. Everything that a step changes in memory is a method here.
import { Effect } from "effect"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { Cause } from "../../networks/core/Cause.ts"
import { restOf, totalsOf } from "../../networks/core/Queue.ts"
import type { Totals } from "../../networks/core/Queue.ts"
import type { Freed, LaneSituation, OwnDoubt, Rules, Situation } from "../../networks/core/Rules.ts"
import { accountAt, isFinal, isInFlight, withAccount } from "../../networks/core/Transaction.ts"
import type { KeyHold, Lane, SignerRetry, Terms } from "../../networks/core/Transaction.ts"
import { bySequence, earliest, poll } from "../../networks/core/TransactionValues.ts"
import type { Moment, Place, TransactionId } from "../../networks/core/TransactionValues.ts"
import { ApiKeys } from "../access/ApiKeys.ts"
import type { LaneLedger } from "../ledger/LaneLedger.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { FeeLimit, Hold, LaneContents, StoredTransaction } from "../ledger/LedgerEntries.ts"
import type { RelayerTargets } from "../relayers/RelayerTargets.ts"
import { firstOfEachSet } from "./LaneNetwork.ts"
import type { LaneChain, LaneRelayer, LaneRow, Poll } from "./LaneNetwork.ts"

// What API keys have left for fees, when signatures are decided. The commit of a signature checks it again, under a lock.

interface FeeBudget {
  /** What the transaction may cost in fees in all, in the smallest unit of its chain. Undefined: its API key has no limit. */
  maximumOf(stored: StoredTransaction): bigint | undefined
  /** The limits of its API key and of the keys that this one descends from. */
  limitsOf(stored: StoredTransaction): ReadonlyArray<FeeLimit>
}

interface LaneFees {
  /** `type`: of the network of the lane. */
  budgetOf(type: string, open: ReadonlyArray<StoredTransaction>): Effect.Effect<FeeBudget>
}

const hasPlace = ({ transaction }: StoredTransaction): boolean => transaction.place !== undefined

const byNumber = (one: StoredTransaction, other: StoredTransaction): number =>
  one.transaction.number - other.transaction.number

/**
 * Each transaction may cost what was counted for it when it was accepted or signed. What a limit leaves is shared by two: the
 * oldest transaction with a place may use it for a bump, and the oldest one without for its first signature. `left`: by key.
 */
const shares = (
  rows: ReadonlyArray<StoredTransaction>,
  limitsOf: FeeBudget["limitsOf"],
  left: ReadonlyMap<string, bigint>
): ReadonlyMap<number, bigint> => {
  const kinds = [rows.filter(hasPlace), rows.filter((row) => !hasPlace(row))]
  const sharing = (keyId: string) =>
    kinds.filter((kind) => kind.some((row) => limitsOf(row).some((limit) => limit.keyId === keyId))).length
  const found = new Map<number, bigint>()
  for (const kind of kinds) {
    const given = new Set<string>()
    for (const row of kind) {
      const keys = limitsOf(row).map(({ keyId }) => keyId)
      const parts = keys.map((key) => (given.has(key) ? 0n : (left.get(key) ?? 0n) / BigInt(sharing(key))))
      const part = parts.reduce((least, one) => (one < least ? one : least))
      if (part === 0n) continue
      found.set(row.transaction.number, part)
      for (const key of keys) given.add(key)
    }
  }
  return found
}

export const makeLaneFees = Effect.gen(function* () {
  const keys = yield* ApiKeys
  const ledger = yield* Ledger

  const leftOf = Effect.fnUntraced(function* ({ maximum, ...limit }: FeeLimit) {
    const { keyId } = limit
    const used = yield* ledger.feesOfLastDay(limit)
    return [keyId, used < maximum ? maximum - used : 0n] as const
  })

  const budgetOf: LaneFees["budgetOf"] = Effect.fnUntraced(function* (type, open) {
    const limited = open.filter(({ fee }) => fee !== undefined)
    const keyIds = [...new Set(limited.flatMap(({ apiKeyId }) => apiKeyId ?? []))]
    const limits = new Map(
      yield* Effect.forEach(keyIds, (id) => Effect.map(keys.feeLimits(id, type), (all) => [id, all] as const))
    )
    const limitsOf: FeeBudget["limitsOf"] = ({ fee, apiKeyId }) =>
      fee === undefined || apiKeyId === undefined ? [] : (limits.get(apiKeyId) ?? [])
    const distinct = new Map([...limits.values()].flat().map((limit) => [limit.keyId, limit]))
    const left = new Map(yield* Effect.forEach(distinct.values(), leftOf))
    const rows = limited.filter((row) => limitsOf(row).length > 0).toSorted(byNumber)
    const shared = shares(rows, limitsOf, left)
    const maximumOf: FeeBudget["maximumOf"] = (row) =>
      row.fee === undefined || limitsOf(row).length === 0
        ? undefined
        : row.fee + (shared.get(row.transaction.number) ?? 0n)
    return { maximumOf, limitsOf }
  })

  const fees: LaneFees = { budgetOf }
  return fees
})

// The pulse: when the steps of one process begin that something accepted asks for. What is accepted between two moments of it shares a
// step, and lanes that step at the same moment share statements (ADR 0026).

/**
 * Milliseconds between two moments: a `perBlock`th of the block time, within these bounds. 50 ms halve the processor time of PostgreSQL at 50
 * transactions a second, and a transaction waits for 25 ms on average (ADR 0026).
 */
const pulseInterval = { minimum: 50, maximum: 250, perBlock: 20 } as const

export interface Pulse {
  /** A lane of the process gave places at this moment. */
  signed(at: Moment): void
  /** Milliseconds until the step begins. 0 if the process gave no places for an interval. `blockTime`: milliseconds. */
  delay(now: Moment, blockTime: number): number
}

export const makePulse = (): Pulse => {
  let signedAt = -Infinity
  return {
    signed: (at) => void (signedAt = at),
    delay: (now, blockTime) => {
      const { minimum, maximum, perBlock } = pulseInterval
      const interval = Math.min(Math.max(Math.floor(blockTime / perBlock), minimum), maximum)
      return now - signedAt >= interval ? 0 : Math.ceil(now / interval) * interval - now
    }
  }
}

// The arrivals of blocks: when a poll shows the next block soon after it has come. Without them, a poll each block time shows it half a block
// time late on average, and a whole one in the worst case (ADR 0029).

/** Parts of the block time: how exactly an arrival is to be known, and how much less exactly it is known after each further block. */
const arrival = { near: 1 / 8, drift: 1 / 64 } as const

/** Polls that find no block when one is expected, in a row, after which the chain is polled once per block time as if nothing was known. */
const arrivalMisses = 3

/** Sets of providers whose arrivals are remembered. */
const maxArrivals = 1000

/** The newest block came after `after`, and at `until` at the latest. */
interface Arrival {
  readonly after: Moment
  readonly until: Moment
}

interface Arrivals {
  readonly height: number
  readonly polledAt: Moment
  /** Undefined: no two polls have shown blocks that follow each other. */
  readonly newest: Arrival | undefined
  readonly misses: number
  readonly missedAt: Moment
}

/** By set of providers (`LaneRelayer.urlsKey`). All times are milliseconds. */
export interface BlockArrivals {
  /** A poll at this moment has shown this block as the newest one. */
  seen(set: string, height: number, at: Moment, blockTime: number): void
  /** When the set is polled again after a poll at `now`. Undefined: nothing is known. */
  next(set: string, now: Moment, blockTime: number): Moment | undefined
}

const overlapOf = (one: Arrival | undefined, other: Arrival): Arrival | undefined => {
  if (one === undefined) return undefined
  const both = { after: Math.max(one.after, other.after), until: Math.min(one.until, other.until) }
  return both.after < both.until ? both : undefined
}

/** What two polls say about the arrival of the newest block, and what was known about the one before, `blocks` block times ago. */
const arrivalOf = (before: Arrivals, blocks: number, at: Moment, blockTime: number): Arrival | undefined => {
  const shift = blocks * blockTime
  const drift = shift * arrival.drift
  const shown = { after: Math.max(before.polledAt, at - blockTime), until: at }
  const expected = before.newest && {
    after: before.newest.after + shift - drift,
    until: before.newest.until + shift + drift
  }
  const isNext = blocks === 1 && at - before.polledAt < 2 * blockTime
  return overlapOf(expected, shown) ?? (isNext ? shown : undefined)
}

export const makeBlockArrivals = (): BlockArrivals => {
  const known = new Map<string, Arrivals>()

  const after = (before: Arrivals, height: number, at: Moment, blockTime: number): Arrivals => {
    if (height > before.height) {
      const newest = arrivalOf(before, height - before.height, at, blockTime)
      return { height, polledAt: at, newest, misses: 0, missedAt: at }
    }
    if (height < before.height) return { height, polledAt: at, newest: undefined, misses: 0, missedAt: at }
    const polledAt = Math.max(at, before.polledAt)
    // Several lanes poll at the same moment.
    const isMiss =
      before.newest !== undefined &&
      at >= before.newest.until + blockTime &&
      (before.misses === 0 || at - before.missedAt >= (blockTime * arrival.near) / 2)
    return isMiss ? { ...before, polledAt, misses: before.misses + 1, missedAt: at } : { ...before, polledAt }
  }

  return {
    seen: (set, height, at, blockTime) => {
      const before = known.get(set)
      if (before === undefined && known.size >= maxArrivals) known.clear()
      const nothing = { height, polledAt: at, newest: undefined, misses: 0, missedAt: at }
      known.set(set, before === undefined ? nothing : after(before, height, at, blockTime))
    },
    next: (set, now, blockTime) => {
      const { misses = 0, newest, polledAt = now } = known.get(set) ?? {}
      if (newest === undefined || misses >= arrivalMisses) return undefined
      const near = blockTime * arrival.near
      const latest = newest.until + blockTime
      if (now >= latest) return Math.ceil(now + near * 2 ** Math.max(misses - 1, 0))
      const earliest = Math.max(newest.after + blockTime * (1 - arrival.drift), polledAt)
      const width = latest - earliest
      return Math.ceil(width <= near ? latest : Math.max(earliest + width / 2, now + near / 2))
    }
  }
}

/**
 * What the holder of a lane remembers from step to step, and loses with the lane. Correctness does not depend on it: it makes
 * polls cheaper, and records how long a condition has lasted. What only one network remembers is in its own `LaneChain`.
 */
export interface LaneMemory {
  /** The new window, if it has changed since the last poll. */
  window: number | undefined
  lastSignedAt: Moment | undefined
  /** Since when nothing is in flight. */
  quietSince: Moment | undefined
  signerRetry: SignerRetry | undefined
  /** How often the signer has failed in a row. */
  signerFailures: number
  /** Relayers of the transactions that were open in the last step that found any. */
  relayers: ReadonlySet<RelayerId>
  /** Relayers that the lane could not use when they were last loaded. */
  unusable: ReadonlySet<RelayerId>
  /** The newest poll. */
  poll: Poll | undefined
  polledAt: Moment | undefined
  nextPollAt: Moment
  /** Transactions that got a place since the lane was claimed. */
  signed: number
  /** Milliseconds between two blocks of the network that the oldest open transaction is sent to. 0: no step has read it yet. */
  blockTime: number
}

export const emptyMemory = (): LaneMemory => ({
  window: undefined,
  lastSignedAt: undefined,
  quietSince: undefined,
  signerRetry: undefined,
  signerFailures: 0,
  relayers: new Set(),
  unusable: new Set(),
  poll: undefined,
  polledAt: undefined,
  nextPollAt: 0,
  signed: 0,
  blockTime: 0
})

/** What the steps of one held lane share. */
export interface LaneContext {
  readonly ledger: LaneLedger["Service"]
  readonly rules: Rules
  readonly chain: LaneChain
  readonly targets: Pick<RelayerTargets["Service"], "get" | "known">
  readonly fees: LaneFees
  readonly newId: Effect.Effect<TransactionId>
  readonly pulse: Pulse
  readonly arrivals: BlockArrivals
  readonly hold: Hold
  readonly memory: LaneMemory
}

/** A row of the ledger with its relayer. */
export interface OpenRow extends LaneRow {
  readonly stored: StoredTransaction
}

const byAcceptance = (one: OpenRow, other: OpenRow): number => one.transaction.number - other.transaction.number

const byPlace = (one: OpenRow, other: OpenRow): number => bySequence(one.transaction.place, other.transaction.place)

export interface StepOptions {
  readonly now: Moment
  readonly contents: LaneContents
  readonly relayers: ReadonlyMap<RelayerId, LaneRelayer>
  readonly budget: FeeBudget
  /** By API key. */
  readonly keyHolds: ReadonlyMap<string, KeyHold>
}

export const makeStepState = (context: LaneContext, { now, contents, relayers, budget, keyHolds }: StepOptions) => {
  const { rules, memory } = context
  const { stored: storedLane, inFlight, pending, nextMoment } = contents
  const all = new Map([...inFlight, ...pending].map((stored) => [stored.transaction.number, stored]))
  let lane: Lane = memory.window === undefined ? storedLane.lane : { ...storedLane.lane, windowSize: memory.window }
  let stop: Cause | undefined =
    storedLane.code === undefined || storedLane.code === "deep_reorg"
      ? undefined
      : { code: storedLane.code, figures: {} }
  let isDeepReorg = storedLane.code === "deep_reorg"
  let { givenCost = 0n } = storedLane
  let nextPollAt = earliest(now + poll.maximum, nextMoment)

  const rowOf = (stored: StoredTransaction | undefined): OpenRow | undefined => {
    const relayer = stored && relayers.get(stored.relayerId)
    return stored === undefined || relayer === undefined
      ? undefined
      : { stored, relayer, transaction: stored.transaction }
  }

  const rows = (): ReadonlyArray<OpenRow> => [...all.values()].flatMap((stored) => rowOf(stored) ?? [])

  const base = (): LaneSituation => {
    const { signerRetry } = memory
    return {
      lane,
      isDeepReorg,
      ...(stop === undefined ? {} : { stop }),
      ...(signerRetry === undefined || signerRetry.at <= now ? {} : { signerRetry })
    }
  }

  const termsOf = ({ stored, relayer, transaction }: OpenRow): Terms => {
    const feeLimit = budget.maximumOf(stored)
    const keyHold = keyHolds.get(stored.apiKeyId ?? "")
    const { isPaused, disabled, target } = relayer
    const [{ address }] = lane.accounts
    return {
      ...rules.termsOf(target, transaction, address),
      isPaused,
      ...(disabled === undefined ? {} : { disabled }),
      ...(feeLimit === undefined ? {} : { feeLimit }),
      ...(keyHold === undefined ? {} : { keyHold })
    }
  }

  const doubtOf = ({ relayer }: OpenRow): OwnDoubt => memory.poll?.doubtOf?.(relayer) ?? {}

  const totals = (): Totals => {
    const transactions = [...all.values()].map(({ transaction }) => transaction)
    memory.quietSince = transactions.some(isInFlight) ? undefined : (memory.quietSince ?? now)
    const found = totalsOf(rules, transactions, { lastSignedAt: memory.lastSignedAt, quietSince: memory.quietSince })
    return { ...found, reserved: found.reserved + givenCost }
  }

  return {
    context,
    now,
    feeLimitsOf: budget.limitsOf,
    storedLane,
    lane: (): Lane => lane,
    hasRows: (): boolean => all.size > 0,
    /** Every open transaction, also of relayers that cannot be used. */
    stored: (): ReadonlyArray<StoredTransaction> => [...all.values()],
    /** The row as it is now. Undefined: it is not open, or its relayer cannot be used. */
    row: (number: number): OpenRow | undefined => rowOf(all.get(number)),
    /** A transaction that is not among the open ones. */
    rowOf,
    /** In the order in which they were accepted. */
    oldest: (): ReadonlyArray<OpenRow> => rows().toSorted(byAcceptance),
    /** By sequence. */
    withPlace: (): ReadonlyArray<OpenRow> =>
      rows()
        .filter(({ transaction }) => transaction.place !== undefined && !isFinal(transaction))
        .toSorted(byPlace),
    pending: (): ReadonlyArray<OpenRow> => rows().filter(({ transaction }) => transaction.state === "pending"),
    base,
    termsOf,
    doubtOf,
    totals,
    /** Relayers of the lane with other providers than this one, one of each set. */
    withOtherProviders: ({ urlsKey }: LaneRelayer): ReadonlyArray<LaneRelayer> =>
      firstOfEachSet(relayers.values()).filter((other) => other.urlsKey !== urlsKey),
    situationOf: (row: OpenRow, all: Totals, view: unknown): Situation => ({
      ...base(),
      ...doubtOf(row),
      transaction: row.transaction,
      terms: termsOf(row),
      rest: restOf(rules, row.transaction, all, false),
      view,
      now
    }),

    /** The ledger has written these. */
    update: (changed: ReadonlyArray<StoredTransaction>): void => {
      for (const stored of changed) all.set(stored.transaction.number, stored)
    },
    /** A poll has read the lane. */
    read: (found: Lane, reason: Cause | undefined, reopened: boolean): void => {
      lane = found
      stop = reason
      isDeepReorg = reopened
      memory.window = undefined
    },
    /** What the lane counts for signatures that callers got, at the height that a poll has read. */
    countGiven: (cost = 0n): void => {
      givenCost = cost
    },
    stopWith: (reason: Cause): void => {
      stop = reason
    },
    /** A place was given up: its account continues there, unless it has moved on. */
    free: ({ account, sequence }: Place, { next, isProven }: Freed): void => {
      const found = accountAt(lane, account)
      if (found === undefined || sequence === undefined || found.nextSequence !== sequence + 1n) return
      const proven = isProven === true ? { chainSequence: next, settledSequence: next } : {}
      lane = withAccount(lane, { ...found, nextSequence: next, ...proven })
    },
    /** Places were given away. */
    give: (places: ReadonlyArray<Place>): void => {
      for (const { account, sequence } of places) {
        const found = accountAt(lane, account)
        if (found !== undefined && sequence !== undefined && sequence >= found.nextSequence) {
          lane = withAccount(lane, { ...found, nextSequence: sequence + 1n })
        }
      }
    },
    /** The next step is due at this moment at the latest. */
    wakeAt: (at: Moment): void => {
      nextPollAt = Math.min(nextPollAt, at)
    },
    nextPollAt: (): Moment => nextPollAt
  }
}

export type StepState = ReturnType<typeof makeStepState>
