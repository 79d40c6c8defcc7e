// What one step of a held lane works on. Everything that a step changes in memory is a method here.
import type { Effect } from "effect"
import type { RelayerId } from "../../domain/relayer/Relayer.ts"
import type { TransactionId } from "../../domain/transaction/TransactionId.ts"
import type { Cause } from "../../domain/transaction/Cause.ts"
import type { Freed } from "../../domain/transaction/Command.ts"
import { accountAt, withAccount } from "../../domain/transaction/Lane.ts"
import type { KeyHold, Lane, SignerRetry, Terms } from "../../domain/transaction/Lane.ts"
import { earliest } from "../../domain/transaction/Moment.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { poll } from "../../domain/transaction/Numbers.ts"
import { bySequence } from "../../domain/transaction/Place.ts"
import type { Place } from "../../domain/transaction/Place.ts"
import type { Rules } from "../../domain/transaction/Rules.ts"
import type { LaneSituation, OwnDoubt, Situation } from "../../domain/transaction/Situation.ts"
import { restOf, totalsOf } from "../../domain/transaction/Totals.ts"
import type { Totals } from "../../domain/transaction/Totals.ts"
import { isFinal, isInFlight } from "../../domain/transaction/Transaction.ts"
import type { LaneContents } from "../ledger/hold/HeldLane.ts"
import type { LaneLedger } from "../ledger/LaneLedger.ts"
import type { Hold } from "../ledger/StoredLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import type { RelayerTargets } from "../relayers/RelayerTargets.ts"
import type { FeeBudget, LaneFees } from "./LaneFees.ts"
import { firstOfEachSet } from "./LaneNetwork.ts"
import type { LaneChain, LaneRelayer, LaneRow, Poll } from "./LaneNetwork.ts"

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
  /** Relayers that the lane could not use when they were last loaded. */
  unusable: ReadonlySet<RelayerId>
  /** The newest poll. */
  poll: Poll | undefined
  polledAt: Moment | undefined
  nextPollAt: Moment
  /** Transactions that got a place since the lane was claimed. */
  signed: number
}

export const emptyMemory = (): LaneMemory => ({
  window: undefined,
  lastSignedAt: undefined,
  quietSince: undefined,
  signerRetry: undefined,
  signerFailures: 0,
  unusable: new Set(),
  poll: undefined,
  polledAt: undefined,
  nextPollAt: 0,
  signed: 0
})

/** What the steps of one held lane share. */
export interface LaneContext {
  readonly ledger: LaneLedger["Service"]
  readonly rules: Rules
  readonly chain: LaneChain
  readonly targets: Pick<RelayerTargets["Service"], "get">
  readonly fees: LaneFees
  readonly newId: Effect.Effect<TransactionId>
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

export const make = (context: LaneContext, { now, contents, relayers, budget, keyHolds }: StepOptions) => {
  const { rules, memory } = context
  const { stored: storedLane, inFlight, pending, nextMoment } = contents
  const all = new Map([...inFlight, ...pending].map((stored) => [stored.transaction.number, stored]))
  let lane: Lane = memory.window === undefined ? storedLane.lane : { ...storedLane.lane, windowSize: memory.window }
  let stop: Cause | undefined =
    storedLane.code === undefined || storedLane.code === "deep_reorg"
      ? undefined
      : { code: storedLane.code, figures: {} }
  let isDeepReorg = storedLane.code === "deep_reorg"
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
    return { ...found, reserved: found.reserved + (storedLane.givenCost ?? 0n) }
  }

  return {
    context,
    now,
    budget,
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

export type StepState = ReturnType<typeof make>
