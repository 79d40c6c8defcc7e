// What a poll says about the nonces of a lane: which count is believed, which nonces are unused, which a deep reorganisation
// has opened, and which transactions of the account the ledger does not know.
import { Effect } from "effect"
import { cause } from "../../../domain/transaction/Cause.ts"
import type { Cause } from "../../../domain/transaction/Cause.ts"
import { floor } from "../../../domain/transaction/evm/BelievedCount.ts"
import type { FloorStep } from "../../../domain/transaction/evm/BelievedCount.ts"
import { laneOf, nonceOf, noncesOf } from "../../../domain/transaction/evm/Evm.ts"
import type { Evm, Nonces } from "../../../domain/transaction/evm/Evm.ts"
import { evmTermsOf } from "../../../domain/transaction/evm/EvmTerms.ts"
import { maxFeesOf, noopChargesOf } from "../../../domain/transaction/evm/Funds.ts"
import { findGaps, settle } from "../../../domain/transaction/evm/Gaps.ts"
import { marketFor, priceOf } from "../../../domain/transaction/evm/Market.ts"
import { networkNumbers, windowLimitOf } from "../../../domain/transaction/evm/NetworkNumbers.ts"
import { priceType } from "../../../domain/transaction/evm/Offer.ts"
import { isFinal } from "../../../domain/transaction/Transaction.ts"
import { sign } from "../../../domain/transaction/Command.ts"
import * as EvmTaker from "../../chains/evm/EvmTaker.ts"
import type { Filler, LaneReading, PollOptions } from "../LaneNetwork.ts"
import { numbersOf, providersOf } from "./EvmMemory.ts"
import type { EvmContext, EvmRelayer } from "./EvmMemory.ts"
import type { EvmPoll } from "./EvmMemory.ts"
import { noop } from "./EvmSigner.ts"

/** Transactions of the account with nonces that no attempt has. Undefined in it: one that could not be fetched. */
const foreignBetween = Effect.fnUntraced(function* (
  context: EvmContext,
  options: PollOptions<Evm>,
  relayer: EvmRelayer,
  { base }: EvmPoll,
  from: number,
  to: number
) {
  const providers = yield* providersOf(context, relayer)
  const { address } = context
  const found: Array<{ readonly hash?: string; readonly call: Evm["foreign"] }> = []
  for (let nonce = from; nonce < to; nonce++) {
    const sought = { address, nonce, hashes: [], finality: numbersOf(relayer).finality }
    const taker = yield* Effect.orElseSucceed(
      providers.first((node) => EvmTaker.find(providers, node, sought, base.head.number)),
      () => undefined
    )
    const isOurs = taker?._tag === "Fetched" && taker.sender === address
    found.push(isOurs ? { hash: taker.hash, call: taker.call } : { call: undefined })
  }
  const given = yield* options.given(found.flatMap(({ hash }) => hash ?? []))
  return found.filter(({ hash }) => hash === undefined || !given.has(hash)).map(({ call }) => call)
})

/** Nonces from the count on that transactions have. `hasFinal`: some of these are final. */
const committedAbove = Effect.fnUntraced(function* (
  { rows, committed }: PollOptions<Evm>,
  lane: Nonces,
  count: number
) {
  const open = rows.flatMap(({ transaction }) => {
    const nonce = nonceOf(transaction)
    return nonce !== undefined && nonce >= count && !isFinal(transaction) ? [nonce] : []
  })
  if (open.length >= lane.nextNonce - count) return { committed: open, hasFinal: false }
  const all = (yield* committed(BigInt(count))).map(Number)
  return { committed: all, hasFinal: all.length > open.length }
})

/** A no-op for each nonce that nothing uses. */
const fillersFor = (
  { canSign }: PollOptions<Evm>,
  { address }: EvmContext,
  { target }: EvmRelayer,
  { base }: EvmPoll,
  nonces: ReadonlyArray<number>
): ReadonlyArray<Filler<Evm>> => {
  if (base.market === undefined || !canSign) return []
  const market = marketFor(base.market, { network: networkNumbers(target.network) })
  const fees = priceOf(market, "fast", priceType({ isEip1559: evmTermsOf(target).network.isEip1559 }))
  const offer = { fees, ...noopChargesOf(base, market) }
  return nonces.map((nonce) => ({
    place: { account: address, sequence: BigInt(nonce) },
    request: noop(address),
    sign: sign<Evm>({ kind: "noop", offer, maxFee: maxFeesOf(offer), cause: cause("gap_filled") })
  }))
}

/**
 * A lane that waits for an operator keeps waiting while its count is neither confirmed nor withdrawn. That is so if there was
 * no block since, or if the process has just claimed the lane.
 */
const stopOf = ({ stored }: PollOptions<Evm>, { code, claim, lane }: FloorStep): Cause | undefined => {
  const reason = code ?? (stored.code === "nonce_ahead" && claim !== undefined ? stored.code : undefined)
  if (reason === undefined) return undefined
  if (reason !== "nonce_ahead") return cause(reason)
  return cause(reason, { ...(claim === undefined ? {} : { count: claim.count }), next_nonce: lane.nextNonce })
}

const nothing = { committed: [], hasFinal: false }

/** Believes or doubts the count of a poll. */
export const read = Effect.fnUntraced(function* (
  context: EvmContext,
  options: PollOptions<Evm>,
  relayer: EvmRelayer,
  poll: EvmPoll
) {
  const { memory } = context
  const { lane, stored, totals } = options
  const before = noncesOf(lane)
  const { window } = numbersOf(relayer)
  const step = floor(before, poll.lane, memory.claim, stored.trustsCount ? Infinity : window)
  memory.claim = step.claim
  const { nextNonce, chainNonce } = step.lane
  const foreign =
    step.change === "ahead" ? yield* foreignBetween(context, options, relayer, poll, before.nextNonce, nextNonce) : []
  const { count } = poll.lane
  const { committed, hasFinal } = count === chainNonce ? yield* committedAbove(options, step.lane, count) : nothing
  const filled = findGaps(step.lane, count, committed, window)
  memory.finalCount = Math.max(memory.finalCount, poll.finalCount)
  const lowestOpen = totals.lowestOpen === undefined ? undefined : Number(totals.lowestOpen)
  const settled = settle(filled.lane, memory.finalCount, lowestOpen)
  const limit = windowLimitOf(numbersOf(relayer), memory.accountCode ?? "0x")
  const windowSize = Math.max(Math.min(lane.windowSize, limit), 1)
  const genesis = stored.genesis ?? (yield* (yield* providersOf(context, relayer)).genesis)
  const stop = stopOf(options, step)
  const reading: LaneReading<Evm> = {
    lane: laneOf({ ...settled, windowSize }),
    ...(stop === undefined ? {} : { stop }),
    ...(genesis === undefined ? {} : { genesis }),
    usedTrust: stored.trustsCount && step.claim === undefined,
    ...(hasFinal ? { openFrom: BigInt(count) } : {}),
    fillers: fillersFor(options, context, relayer, poll, filled.gaps),
    foreign
  }
  return reading
})
