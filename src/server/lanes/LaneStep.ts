// One step of the holder of a lane: it reads the ledger, polls the chain if that is due, decides, signs, commits and sends.
import { Array, Clock, Effect, Result } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import type { DisabledReason, RelayerId } from "../../domain/relayer/Relayer.ts"
import { cause } from "../../networks/core/Cause.ts"
import type { Cause } from "../../networks/core/Cause.ts"
import { Command } from "../../networks/core/Rules.ts"
import type { Rules } from "../../networks/core/Rules.ts"
import { currentAttempts, isFinal, isNoop } from "../../networks/core/Transaction.ts"
import type { KeyHold, Terms, Transaction } from "../../networks/core/Transaction.ts"
import { maxSignaturesPerCommit, poll as pollBounds } from "../../networks/core/TransactionValues.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"
import type { Decided, GapSignature, LaneContents, StoredTransaction } from "../ledger/LedgerEntries.ts"
import type { RelayerTarget } from "../relayers/RelayerTargets.ts"
import { assign, decideAll } from "./LaneDecisions.ts"
import type { Filler, LaneReading, LaneRelayer, Poll } from "./LaneNetwork.ts"
import { changedRowIn } from "../secrets/Secrets.ts"
import { attemptOf, countFinal, inParallel, noteSignerFailure, reach, send, traceFinal } from "./LaneSending.ts"
import { makeStepState } from "./StepState.ts"
import type { LaneContext, OpenRow, StepState } from "./StepState.ts"

// The relayers whose transactions are in a lane: their networks, their providers, and what they allow now.

/**
 * A lack of funds, and an account of stellar that does not exist or cannot be read, disable nothing here: each poll reads the account,
 * sooner than the next health check.
 */
const disabledBy = (reason: DisabledReason | undefined): Terms["disabled"] => {
  switch (reason?.type) {
    case undefined:
    case "BalanceCheckFailed":
    case "SequenceSyncFailed":
      return undefined
    case "ChainIdMismatch":
      return "chain_changed"
    case "RpcValidationFailed":
    case "NonceSyncFailed":
      return "providers_unavailable"
    default:
      return "relayer_disabled"
  }
}

const toLaneRelayer = (
  rules: Rules,
  { relayer, network, urls, privateUrls = [] }: RelayerTarget
): LaneRelayer | undefined => {
  const target = rules.targetOf({ relayer, network })
  return target === undefined
    ? undefined
    : {
        id: relayer.id,
        signerId: relayer.signer_id,
        target,
        urls,
        urlsKey: JSON.stringify(urls),
        ...(privateUrls.length === 0 ? {} : { privateUrls }),
        hasOwnUrls: relayer.custom_rpc_urls !== undefined,
        blockTime: network.average_blocktime_ms,
        isPaused: relayer.paused,
        disabled: relayer.system_disabled ? disabledBy(relayer.disabled_reason) : undefined
      }
}

/** A relayer that the lane cannot use, because a row was changed or removed in the database. */
interface UnusableRelayer {
  readonly id: RelayerId
  /** For the log. */
  readonly reason: string
}

interface RelayerOptions extends Pick<LaneContext, "targets" | "rules"> {
  /** Those that are as they were read, by id. */
  readonly asRead: ReadonlyMap<RelayerId, RelayerTarget>
}

type LoadedRelayer = Result.Result<LaneRelayer, UnusableRelayer>

const loadRelayer = ({ targets, rules, asRead }: RelayerOptions, id: RelayerId): Effect.Effect<LoadedRelayer> => {
  const unusable = (reason: string): LoadedRelayer => Result.fail({ id, reason })
  const missing = unusable(`there is no ${rules.type} relayer with this id in the database`)
  const known = asRead.get(id)
  return (known === undefined ? targets.get(id) : Effect.succeed(known)).pipe(
    Effect.map((target): LoadedRelayer => {
      const relayer = toLaneRelayer(rules, target)
      return relayer === undefined ? missing : Result.succeed(relayer)
    }),
    Effect.catchTag("RelayerNotFound", () => Effect.succeed(missing)),
    Effect.catchCause((cause) => {
      const changed = changedRowIn(cause)
      return changed === undefined ? Effect.failCause(cause) : Effect.succeed(unusable(changed.message))
    })
  )
}

/** The relayers by id, and those that cannot be used. */
const loadRelayers = Effect.fnUntraced(function* (options: RelayerOptions, ids: Iterable<RelayerId>) {
  const loaded = yield* Effect.forEach(new Set(ids), (id) => loadRelayer(options, id), { concurrency: "unbounded" })
  const [relayers, unusable] = Array.separate(loaded)
  return { relayers: new Map(relayers.map((relayer) => [relayer.id, relayer])), unusable }
})

// Transactions whose relayer cannot be used, because a row was changed or removed in the database: they wait with a code, and
// nothing that the changed row names is called or signs. Other relayers of the lane go on.

/** One warning per relayer and episode, which ends when the relayer can be used again. */
const warnOfUnusable = Effect.fnUntraced(function* (
  { context: { memory, hold } }: StepState,
  unusable: ReadonlyArray<UnusableRelayer>
) {
  const known = memory.unusable
  memory.unusable = new Set(unusable.map(({ id }) => id))
  for (const { id, reason } of unusable) {
    if (known.has(id)) continue
    yield* Effect.annotateLogs(Effect.logWarning("transactions of a relayer wait because a row was changed"), {
      lane_id: hold.laneId,
      relayer_id: id,
      reason
    })
  }
})

const heldForRow = Command.Hold({ cause: cause("row_changed"), scope: "relayer" })

/** A restored transaction keeps its code, because it waits for an operator in any case. */
const holdUnusable = Effect.fnUntraced(function* (step: StepState, unusable: ReadonlyArray<UnusableRelayer>) {
  yield* warnOfUnusable(step, unusable)
  const ids = new Set(unusable.map(({ id }) => id))
  const decided = step.stored().flatMap((stored): ReadonlyArray<Decided> => {
    const { state, restored } = stored.transaction
    return !ids.has(stored.relayerId) || (state === "pending" && restored) ? [] : [{ stored, command: heldForRow }]
  })
  if (!isReadonlyArrayNonEmpty(decided)) return
  step.update(yield* step.context.ledger.apply(step.context.hold, decided))
})

// Fillers: no-ops for sequences that no transaction has. The oldest open transaction lends them its relayer.

const none: ReadonlyArray<GapSignature> = []

const fill = Effect.fnUntraced(function* (
  step: StepState,
  fillers: ReadonlyArray<Filler>,
  owner: StoredTransaction,
  relayer: LaneRelayer
) {
  if (fillers.length === 0) return
  const { context } = step
  const sign = Effect.fnUntraced(function* ({ place, request, sign }: Filler) {
    const { hash, raw } = yield* context.chain.sign({ lane: step.lane(), relayer, request: undefined, place, sign })
    const id = yield* context.newId
    const now = yield* Clock.currentTimeMillis
    const attempt = attemptOf(undefined, step.lane(), sign, { place, hash, now })
    const gap: GapSignature = { id, request, attempt, raw, cause: sign.cause }
    return gap
  })
  const signed = yield* Effect.catch(Effect.forEach(fillers, sign, { concurrency: inParallel }), (failure) =>
    Effect.as(noteSignerFailure(step, failure), none)
  )
  if (!isReadonlyArrayNonEmpty(signed)) return
  const stored = yield* context.ledger.commitGaps(context.hold, owner, signed)
  yield* reach("committed")
  step.update(stored)
  const raw = new Map(signed.map((gap) => [gap.id, gap.raw]))
  yield* send(
    step,
    stored.map((stored) => ({ stored, relayer, ordinals: [1] })),
    ({ id }) => raw.get(id)
  )
})

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
 * The next poll after one at `now`: soon after the next block if its arrival is known, and there is one poll per block. Else the last
 * moment of the grid within the interval, or the one after it if that comes before half of the interval has passed. Most providers would
 * still have the same block then.
 */
const nextPoll = ({ arrivals, rules }: LaneContext, relayer: LaneRelayer, now: Moment): Moment => {
  const { blockTime, target, urlsKey } = relayer
  const interval = rules.pollInterval(target)
  const known = interval === blockTime ? arrivals.next(urlsKey, now, blockTime) : undefined
  if (known !== undefined) return known
  const grid = Math.min(pollGrid, interval)
  const next = Math.floor((now + interval) / grid) * grid
  return next - now < interval / 2 ? next + grid : next
}

/**
 * Milliseconds for which a process keeps a lane that has nothing open. The next transaction needs no claim, and no proof from
 * each provider that it is on the right chain.
 */
const keptFor = pollBounds.maximum

type Remembered = ReturnType<LaneContext["targets"]["known"]>

const begin = Effect.fnUntraced(function* (context: LaneContext, contents: LaneContents, remembered: Remembered) {
  const open = [...contents.inFlight, ...contents.pending]
  const now = yield* Clock.currentTimeMillis
  const ids = open.map(({ relayerId }) => relayerId)
  if (ids.length > 0) context.memory.relayers = new Set(ids)
  const asRead = remembered.filter(({ id }) => contents.asRead?.has(id) === true)
  const { relayers, unusable } = yield* loadRelayers(
    { ...context, asRead: new Map(asRead.map(({ id, target }) => [id, target])) },
    ids
  )
  const budget = yield* context.fees.budgetOf(context.rules.type, open)
  const keyHolds = yield* keyHoldsOf(context, contents)
  const step = makeStepState(context, { now, contents, relayers, budget, keyHolds })
  yield* holdUnusable(step, unusable)
  return step
})

/** Final transactions whose places are open again, which is reported once. */
const reopened = Effect.fnUntraced(function* (
  { context: { ledger, hold }, storedLane }: StepState,
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
  step: StepState,
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
  step: StepState,
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
  step.wakeAt(nextPoll(step.context, lead, step.now))
  const saved = yield* save(step, reading, reading.stop?.code ?? (opened.length > 0 ? "deep_reorg" : undefined))
  // A lane without transactions reads no height, so what was counted before this poll may be dead for long.
  step.countGiven(saved.givenCost)
  // Another lane has an account that the network wanted to adopt.
  if (saved.lane.accounts.length < reading.lane.accounts.length) {
    step.read({ ...reading.lane, accounts: saved.lane.accounts }, reading.stop, opened.length > 0)
  }
  yield* fill(step, reading.fillers, owner, lead)
  return opened
})

/** A provider is on another chain: the lane stops, and believes nothing of the poll. */
const stopOnOtherChain = Effect.fnUntraced(function* (step: StepState) {
  const { genesis } = step.storedLane
  step.stopWith(cause("chain_changed"))
  yield* save(step, genesis === undefined ? {} : { genesis }, "chain_changed")
})

const pollAll = Effect.fnUntraced(function* (step: StepState, owner: OpenRow) {
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
  const { blockTime, urlsKey } = owner.relayer
  const height = poll.heightOf(owner.relayer)
  // 0: the providers of this relayer have not answered, whatever those of others have.
  if (height > 0) context.arrivals.seen(urlsKey, height, now, blockTime)
  const { reading } = poll
  const opened = reading === undefined ? [] : yield* readLane(step, reading, owner.stored, owner.relayer)
  if (reading === undefined && poll.isOtherChain) yield* stopOnOtherChain(step)
  yield* decideAll(step, [...opened, ...step.withPlace().map(({ stored }) => stored)])
})

/** The decision about a transaction that was just accepted uses the newest poll, if that is not older than a block. */
const isPollDue = ({ context: { memory, rules }, now }: StepState, { target }: LaneRelayer): boolean =>
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
const expire = Effect.fnUntraced(function* (
  { ledger, hold, chain }: LaneContext,
  contents: LaneContents,
  remembered: Remembered,
  now: Moment
) {
  if (contents.nextMoment === undefined || contents.nextMoment > now) return contents
  const expired = yield* ledger.expire(hold)
  yield* countFinal(chain, expired)
  yield* traceFinal(expired)
  return yield* ledger.read(hold, remembered)
})

/** Whether the step has ended all that was open, and read all that waits for a place. */
const isOver = (step: StepState, { pending, pendingCount }: LaneContents): boolean =>
  pending.length === pendingCount && step.stored().every(({ transaction }) => isFinal(transaction))

export const run = Effect.fn("LaneStep.run")(function* (context: LaneContext) {
  const { ledger, hold, memory } = context
  const now = yield* Clock.currentTimeMillis
  const remembered = context.targets.known(memory.relayers)
  const contents = yield* expire(context, yield* ledger.read(hold, remembered), remembered, now)
  const step = yield* begin(context, contents, remembered)
  const wait: Next = { _tag: "Wait", until: step.nextPollAt() }
  if (!step.hasRows()) return contents.pendingCount === 0 ? ({ _tag: "Idle" } as const) : wait
  const [owner] = step.oldest()
  if (owner === undefined) return wait
  memory.blockTime = owner.relayer.blockTime
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
  const until = signed > 0 ? Math.min(planned, nextPoll(context, owner.relayer, now)) : planned
  memory.nextPollAt = until
  const next: Next = signed >= maxSignaturesPerCommit ? { _tag: "Again" } : { _tag: "Wait", until }
  return next
})
