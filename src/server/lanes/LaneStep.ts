// One step of the holder of a lane: it reads the ledger, polls the chain if that is due, decides, signs, commits and sends.
import { Clock, Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { cause } from "../../domain/transaction/Cause.ts"
import type { Cause } from "../../domain/transaction/Cause.ts"
import type { KeyHold } from "../../domain/transaction/Lane.ts"
import type { Moment } from "../../domain/transaction/Moment.ts"
import { isNoop } from "../../domain/transaction/Attempt.ts"
import { maxSignaturesPerCommit, poll as pollBounds } from "../../domain/transaction/Numbers.ts"
import { currentAttempts, isFinal } from "../../domain/transaction/Transaction.ts"
import type { Transaction } from "../../domain/transaction/Transaction.ts"
import type { LaneContents } from "../ledger/hold/HeldLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import { assign } from "./LaneAssignment.ts"
import { decideAll } from "./LaneDecisions.ts"
import { fill } from "./LaneFillers.ts"
import * as Metrics from "./LaneMetrics.ts"
import type { LaneReading, LaneRelayer, Poll } from "./LaneNetwork.ts"
import * as LaneRelayers from "./LaneRelayers.ts"
import * as LaneTraces from "./LaneTraces.ts"
import { holdAll } from "./LaneUnusable.ts"
import * as StepState from "./StepState.ts"
import type { LaneContext } from "./StepState.ts"

type Next =
  /** Nothing was open when the step began. */
  | { readonly _tag: "Idle" }
  /** The step has ended all that was open. The lane rests until this moment, or until it is woken. */
  | { readonly _tag: "Done"; readonly until: Moment }
  | { readonly _tag: "Again" }
  /** The lane rests until this moment, or until it is woken. */
  | { readonly _tag: "Wait"; readonly until: Moment }

/** The API keys of pending transactions that are held, because too many of their transactions failed. */
const keyHoldsOf = Effect.fnUntraced(function* ({ rules, ledger }: LaneContext, { pending }: LaneContents) {
  const { failing, type } = rules
  const keyIds = [...new Set(pending.flatMap(({ apiKeyId }) => apiKeyId ?? []))]
  if (failing === undefined || keyIds.length === 0) return new Map<string, KeyHold>()
  const landings = yield* ledger.landingsOf(keyIds, type, failing.of)
  return new Map(
    landings.flatMap(({ key_id, failed, failed_at }): ReadonlyArray<readonly [string, KeyHold]> =>
      failed_at === undefined || failed * 100 <= failing.percent * failing.of
        ? []
        : [[key_id, { failed, of: failing.of, until: failed_at + failing.hold }]]
    )
  )
})

/**
 * Milliseconds between the moments at which lanes poll. Lanes that are due in the same second read the ledger and ask their
 * providers together, in batches. Lanes with longer intervals stay spread over the seconds of their interval.
 */
const pollGrid = 1000

/**
 * The next poll after one at `now`: the last moment of the grid within the interval, or the one after it if that comes before half of the
 * interval has passed. Most providers would still have the same block then.
 */
const nextPoll = (now: Moment, interval: number): Moment => {
  const grid = Math.min(pollGrid, interval)
  const next = Math.floor((now + interval) / grid) * grid
  return next - now < interval / 2 ? next + grid : next
}

/**
 * Milliseconds for which a process keeps a lane that has nothing open. The next transaction needs no claim, and no proof from
 * each provider that it is on the right chain.
 */
const keptFor = pollBounds.maximum

const begin = Effect.fnUntraced(function* (context: LaneContext, contents: LaneContents) {
  const open = [...contents.inFlight, ...contents.pending]
  const now = yield* Clock.currentTimeMillis
  const ids = open.map(({ relayerId }) => relayerId)
  const { relayers, unusable } = yield* LaneRelayers.load(context, ids)
  const budget = yield* context.fees.budgetOf(context.rules.type, open)
  const keyHolds = yield* keyHoldsOf(context, contents)
  const step = StepState.make(context, { now, contents, relayers, budget, keyHolds })
  yield* holdAll(step, unusable)
  return step
})

/** Final transactions whose places are open again, which is reported once. */
const reopened = Effect.fnUntraced(function* (
  { context: { ledger, hold }, storedLane }: StepState.StepState,
  { openFrom }: LaneReading
) {
  if (openFrom === undefined) return []
  const finals = yield* ledger.finalFrom(hold, openFrom)
  if (finals.length > 0 && storedLane.code !== "deep_reorg") {
    yield* Effect.annotateLogs(Effect.logError("a reorganisation is deeper than required_confirmations"), {
      lane_id: hold.laneId
    })
    yield* ledger.reportReorgedFinal(hold, finals)
  }
  return finals
})

const save = (
  step: StepState.StepState,
  { genesis, usedTrust, released }: Partial<LaneReading>,
  code: Cause["code"] | undefined
) => {
  const { context, storedLane } = step
  return context.ledger.saveLane(context.hold, {
    chain: storedLane.chain,
    read: storedLane,
    lane: step.lane(),
    ...(genesis === undefined ? {} : { genesis }),
    ...(released === undefined ? {} : { released }),
    usedTrust: usedTrust === true,
    ...(code === undefined ? {} : { code }),
    nextPollAt: step.nextPollAt()
  })
}

/** Believes what a poll says about the lane, and saves it. Returns final transactions that are open again. */
const readLane = Effect.fnUntraced(function* (
  step: StepState.StepState,
  reading: LaneReading,
  owner: StoredTransaction,
  lead: LaneRelayer
) {
  for (const one of reading.foreign) {
    const { ledger, hold } = step.context
    step.update(yield* ledger.markRestored(hold, step.storedLane.chain, one))
  }
  const opened = yield* reopened(step, reading)
  step.read(reading.lane, reading.stop, opened.length > 0)
  step.wakeAt(nextPoll(step.now, step.context.rules.pollInterval(lead.target)))
  const saved = yield* save(step, reading, reading.stop?.code ?? (opened.length > 0 ? "deep_reorg" : undefined))
  // Another lane has an account that the network wanted to adopt.
  if (saved.lane.accounts.length < reading.lane.accounts.length) {
    step.read({ ...reading.lane, accounts: saved.lane.accounts }, reading.stop, opened.length > 0)
  }
  yield* fill(step, reading.fillers, owner, lead)
  return opened
})

/** A provider is on another chain: the lane stops, and believes nothing of the poll. */
const stopOnOtherChain = Effect.fnUntraced(function* (step: StepState.StepState) {
  const { genesis } = step.storedLane
  step.stopWith(cause("chain_changed"))
  yield* save(step, genesis === undefined ? {} : { genesis }, "chain_changed")
})

const pollAll = Effect.fnUntraced(function* (step: StepState.StepState, owner: StepState.OpenRow) {
  const { context, now, storedLane } = step
  const rows = step.oldest()
  if (!isReadonlyArrayNonEmpty(rows)) return
  const poll: Poll = yield* context.chain.poll({
    lane: step.lane(),
    stored: storedLane,
    rows,
    totals: step.totals(),
    canSign: step.base().signerRetry === undefined,
    now,
    committed: (from) => context.ledger.committedFrom(context.hold, from),
    mined: (from) => context.ledger.minedFrom(context.hold, from),
    own: (hashes) => context.ledger.own(context.hold, hashes),
    given: context.ledger.given,
    givenPlaces: context.ledger.givenPlaces(context.hold, now)
  })
  context.memory.poll = poll
  context.memory.polledAt = now
  const { reading } = poll
  const opened = reading === undefined ? [] : yield* readLane(step, reading, owner.stored, owner.relayer)
  if (reading === undefined && poll.isOtherChain) yield* stopOnOtherChain(step)
  yield* decideAll(step, [...opened, ...step.withPlace().map(({ stored }) => stored)])
})

/** The decision about a transaction that was just accepted uses the newest poll, if that is not older than a block. */
const isPollDue = ({ context: { memory, rules }, now }: StepState.StepState, { target }: LaneRelayer): boolean =>
  memory.polledAt === undefined ||
  memory.poll?.isAnswered !== true ||
  now >= memory.polledAt + rules.pollInterval(target) ||
  now >= memory.nextPollAt

/** Whether a caller has canceled or replaced it, and no bytes do so yet. */
const isCommanded = (transaction: Transaction): boolean => {
  const newest = currentAttempts(transaction).at(-1)
  if (newest === undefined || transaction.mined !== undefined) return false
  if (transaction.intent === "cancel") return !isNoop(newest)
  return transaction.intent === "execute" && newest.requestVersion < transaction.versions.length
}

/** Ends what has passed its deadline without a place. */
const expire = Effect.fnUntraced(function* ({ ledger, hold, chain }: LaneContext, contents: LaneContents, now: Moment) {
  if (contents.nextMoment === undefined || contents.nextMoment > now) return contents
  const expired = yield* ledger.expire(hold)
  yield* Metrics.countFinal(chain, expired)
  yield* LaneTraces.showFinal(expired)
  return yield* ledger.read(hold)
})

/** Whether the step has ended all that was open, and read all that waits for a place. */
const isOver = (step: StepState.StepState, { pending, pendingCount }: LaneContents): boolean =>
  pending.length === pendingCount && step.stored().every(({ transaction }) => isFinal(transaction))

export const run = Effect.fn("LaneStep.run")(function* (context: LaneContext) {
  const { ledger, hold, memory } = context
  const now = yield* Clock.currentTimeMillis
  const contents = yield* expire(context, yield* ledger.read(hold), now)
  const step = yield* begin(context, contents)
  const wait: Next = { _tag: "Wait", until: step.nextPollAt() }
  if (!step.hasRows()) return contents.pendingCount === 0 ? ({ _tag: "Idle" } as const) : wait
  const [owner] = step.oldest()
  if (owner === undefined) return wait
  const isDue = isPollDue(step, owner.relayer)
  if (isDue) yield* pollAll(step, owner)
  else
    yield* decideAll(
      step,
      step.withPlace().flatMap((row) => (isCommanded(row.transaction) ? [row.stored] : []))
    )
  const signed = yield* assign(step)
  memory.signed += signed
  if (isOver(step, contents)) {
    const done: Next = { _tag: "Done", until: now + keptFor }
    memory.nextPollAt = done.until
    return done
  }
  const planned = isDue ? step.nextPollAt() : Math.min(step.nextPollAt(), memory.nextPollAt)
  const interval = context.rules.pollInterval(owner.relayer.target)
  const until = signed > 0 ? Math.min(planned, nextPoll(now, interval)) : planned
  memory.nextPollAt = until
  const next: Next = signed >= maxSignaturesPerCommit ? { _tag: "Again" } : { _tag: "Wait", until }
  return next
})
