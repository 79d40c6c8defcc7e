// Counters of a lane after a poll: which count is believed, which nonces are unused, and which a deep reorganisation opened.
import { Effect } from "effect"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import { cause } from "../../domain/transaction/Cause.ts"
import type { Code } from "../../domain/transaction/Code.ts"
import { floor } from "../../domain/transaction/Floor.ts"
import type { FloorStep } from "../../domain/transaction/Floor.ts"
import { noopChargesOf } from "../../domain/transaction/Funds.ts"
import { findGaps, settle } from "../../domain/transaction/Gaps.ts"
import type { Lane } from "../../domain/transaction/Lane.ts"
import { nextBlock } from "../../domain/transaction/NetworkNumbers.ts"
import { priceOf } from "../../domain/transaction/Market.ts"
import { isFinal } from "../../domain/transaction/Transaction.ts"
import { limitOf } from "../../domain/transaction/Window.ts"
import * as EvmTaker from "../chains/evm/EvmTaker.ts"
import type { GapSignature } from "../ledger/HeldLane.ts"
import type { StoredLane } from "../ledger/StoredLane.ts"
import type { StoredTransaction } from "../ledger/StoredTransaction.ts"
import type { ChainPoll } from "./ChainPoll.ts"
import { reach } from "./CrashPoints.ts"
import { baseOf, totals, update } from "./LaneContext.ts"
import type { Work } from "./LaneContext.ts"
import * as Providers from "./LaneProviders.ts"
import type { LaneRelayer } from "./LaneRelayers.ts"
import { send } from "./LaneSending.ts"
import { noteFailure } from "./LaneSignerRetry.ts"
import { attemptOf, inParallel, unsignedOf } from "./LaneSigning.ts"

/** Transactions of the account that are in no attempt: the ledger may have lost requests that they are. */
const markSuspects = Effect.fnUntraced(function* (work: Work, relayer: LaneRelayer, from: number, to: number) {
  const providers = yield* Providers.of(work, relayer)
  const { address } = work.lane
  for (let nonce = from; nonce < to; nonce++) {
    const wanted = { address, nonce, hashes: [], finality: relayer.numbers.finality }
    const taker = yield* Effect.orElseSucceed(
      providers.first((node) =>
        EvmTaker.find(providers, node, wanted, work.context.memory.polls.get(relayer.urlsKey)?.base.head.number ?? 0)
      ),
      () => undefined
    )
    const isOurs = taker?._tag === "Fetched" && taker.sender === address
    update(work, yield* work.context.ledger.markRestored(work.context.hold, isOurs ? taker.effect : undefined))
  }
})

/** Which transactions of the lane have the nonces from the count on that no open one has. */
const committedAbove = Effect.fnUntraced(function* (
  { context: { ledger, hold }, rows }: Work,
  lane: Lane,
  count: number
) {
  const open = [...rows.values()].flatMap(({ transaction }) => {
    const { nonce } = transaction
    return nonce !== undefined && nonce >= count && !isFinal(transaction) ? [nonce] : []
  })
  if (open.length >= lane.nextNonce - count) return { committed: open, finals: [] }
  const committed = yield* ledger.committedFrom(hold, count)
  return { committed, finals: committed.length > open.length ? yield* ledger.finalFrom(hold, count) : [] }
})

const windowOf = ({ context: { memory } }: Work, { windowSize }: Lane, { numbers }: LaneRelayer): number =>
  Math.max(Math.min(memory.window ?? windowSize, limitOf(numbers, memory.accountCode ?? "0x")), 1)

/** A no-op for each nonce that nothing uses. The oldest open transaction lends them its relayer. */
const fillGaps = Effect.fnUntraced(function* (
  work: Work,
  owner: StoredTransaction,
  relayer: LaneRelayer,
  poll: ChainPoll,
  nonces: ReadonlyArray<number>
) {
  const { market } = poll.base
  if (market === undefined || baseOf(work, relayer).signerRetry !== undefined) return
  const fees = priceOf(market, "fast", relayer.numbers.isEip1559 ? "eip1559" : "legacy")
  const command = { kind: "noop", fees, ...noopChargesOf(poll.base, market) } as const
  const sign = Effect.fnUntraced(function* (nonce: number) {
    const unsigned = unsignedOf(relayer.numbers, work.lane.address, undefined, command, nonce)
    const { hash, raw } = yield* work.context.signer.sign(relayer.signerId, unsigned)
    const id = yield* work.context.newId
    const attempt = attemptOf(undefined, work.lane, command, { nonce, hash, now: work.now })
    const gap: GapSignature = { id, attempt, raw, cause: cause("gap_filled") }
    return gap
  })
  const none: ReadonlyArray<GapSignature> = []
  const signed = yield* Effect.catch(Effect.forEach(nonces, sign, { concurrency: inParallel }), (failure) =>
    Effect.as(noteFailure(work, failure), none)
  )
  if (!isReadonlyArrayNonEmpty(signed)) return
  const stored = yield* work.context.ledger.commitGaps(work.context.hold, owner, signed)
  yield* reach("committed")
  update(work, stored)
  const raw = new Map(signed.map((gap) => [gap.id, gap.raw]))
  yield* send(
    work,
    stored.map((stored) => ({ stored, relayer, ordinals: [1] })),
    ({ id }) => raw.get(id)
  )
})

const reportFinals = Effect.fnUntraced(function* (
  { context, lane }: Work,
  stored: StoredLane,
  finals: ReadonlyArray<StoredTransaction>
) {
  const opened = finals.filter(({ transaction: { nonce = -1 } }) => nonce >= lane.chainNonce)
  if (opened.length > 0 && stored.code !== "deep_reorg") {
    yield* Effect.annotateLogs(Effect.logError("a reorganisation is deeper than required_confirmations"), {
      lane_id: context.hold.laneId
    })
    yield* context.ledger.reportReorgedFinal(context.hold, opened)
  }
  return opened
})

/**
 * A lane that waits for an operator keeps waiting while its count is neither confirmed nor withdrawn. That is so if there was
 * no block since, or if the process has just claimed the lane.
 */
const stillAhead = ({ code }: StoredLane, { claim }: FloorStep): Code | undefined =>
  code === "nonce_ahead" && claim !== undefined ? code : undefined

/** Believes or doubts the count of a poll, saves the lane, and returns final transactions whose nonces are open again. */
export const advance = Effect.fn("LaneFloor.advance")(function* (
  work: Work,
  stored: StoredLane,
  owner: StoredTransaction,
  relayer: LaneRelayer,
  poll: ChainPoll
) {
  const { context, lane: before } = work
  const { memory, ledger, hold } = context
  const { window } = relayer.numbers
  const step = floor(before, poll.lane, memory.claim, stored.trustsCount ? Infinity : window)
  memory.claim = step.claim
  if (step.change === "ahead") yield* markSuspects(work, relayer, before.nextNonce, step.lane.nextNonce)
  work.stop = step.code ?? stillAhead(stored, step)
  const { committed, finals } =
    poll.lane.count === step.lane.chainNonce
      ? yield* committedAbove(work, step.lane, poll.lane.count)
      : { committed: [], finals: [] }
  const filled = findGaps(step.lane, poll.lane.count, committed, window)
  memory.finalCount = Math.max(memory.finalCount, poll.finalCount)
  const settled = settle(filled.lane, memory.finalCount, totals(work).lowestOpen)
  work.lane = { ...settled, windowSize: windowOf(work, settled, relayer) }
  memory.window = undefined
  const opened = yield* reportFinals(work, stored, finals)
  work.isDeepReorg = opened.length > 0
  const genesis = stored.genesis ?? (yield* (yield* Providers.of(work, relayer)).genesis)
  const code = work.stop ?? (work.isDeepReorg ? "deep_reorg" : undefined)
  yield* ledger.saveLane(hold, {
    lane: work.lane,
    ...(genesis === undefined ? {} : { genesis }),
    usedTrust: stored.trustsCount && step.claim === undefined,
    ...(code === undefined ? {} : { code }),
    nextPollAt: Math.min(work.nextPollAt, nextBlock(relayer.numbers, work.now))
  })
  if (filled.gaps.length > 0) yield* fillGaps(work, owner, relayer, poll, filled.gaps)
  return opened
})
