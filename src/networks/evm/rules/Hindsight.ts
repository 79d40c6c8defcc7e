// What the past of a relayer shows: why a transaction waited, and what another policy would have done.
// Stored transactions are judged by the rules of admission and of lanes; nothing is asked of a chain here.
import { DateTime, Schema } from "effect"
import { PolicyPatch } from "../../../domain/relayer/Relayer.ts"
import { field, shown } from "../../../domain/request/Field.ts"
import * as Shown from "../../../domain/request/Shown.ts"
import { Instant } from "../../../domain/request/Shown.ts"
import { isFinal, isNoop, newestRequest } from "../../core/Transaction.ts"
import type { Transaction } from "../../core/Transaction.ts"
import { TransactionId } from "../../core/TransactionValues.ts"
import type { Moment, Point } from "../../core/TransactionValues.ts"
import { privateViolation, storedViolationsOf } from "./Admission.ts"
import { givenFees } from "./Costs.ts"
import type { Evm, EvmTerms } from "./Evm.ts"
import { maxFeeOf } from "./Market.ts"

/** Days of the past that a rehearsal reads at most. */
export const maxRehearsedDays = 30

/** Transactions that a rehearsal reads at most: about ten seconds of decoding. */
export const maxRehearsed = 100_000

/** Transactions of each kind that the answer names. */
export const maxNamed = 10

export const RehearsedDays = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxRehearsedDays }))

export const RehearsePolicy = Schema.Struct({
  policies: field(
    PolicyPatch,
    "A merge patch of the relayer's policy, as a PATCH of the relayer takes it. It is not applied.",
    { gas_price_cap: "50000000000" }
  ),
  days: field(
    Schema.optionalKey(RehearsedDays),
    `Transactions are tried that were accepted in this number of days before now. The default is ${maxRehearsedDays}.`,
    30
  )
}).annotate({ identifier: "RehearsePolicyRequest" })
export type RehearsePolicy = typeof RehearsePolicy.Type

const id = field(TransactionId, "Id of the transaction.", "0198c1de-5f00-7000-8000-000000000001")
const count = field(Schema.Natural, "The number of transactions.", 37)
const named = `The newest of these transactions, at most ${maxNamed}.`

const Held = Schema.Struct({
  id,
  code: field(Schema.Literal("gas_price_above_cap"), "The code that it would have had.", "gas_price_above_cap"),
  blocks: shown(
    Schema.Natural,
    "Blocks from its first send until one whose base fee is at most the wanted cap. Absent if a provider does not say so within 512 blocks.",
    14
  )
}).annotate({ identifier: "RehearsedHold", description: "A transaction that the policy would have held." })

const Refused = Schema.Struct({
  code: field(
    Schema.Literal("policy_changed"),
    "The code of a transaction that was accepted before the policy was changed. A new request gets 400.",
    "policy_changed"
  ),
  field: field(Schema.String, "The field of the request that the policy does not allow.", "to"),
  message: field(
    Shown.Words,
    "What is wrong with it: the words of the 400.",
    "is not in whitelist_receivers of the relayer's policy"
  ),
  count,
  first: field(
    Schema.Array(Schema.Struct({ id }).annotate({ identifier: "RehearsedRefusal", description: "A transaction." })),
    named,
    []
  )
}).annotate({ identifier: "RehearsedRefusals", description: "Transactions that the policy would have refused." })

export const Rehearsal = Schema.Struct({
  days: field(RehearsedDays, "The days that were tried.", 30),
  transactions: field(Schema.Natural, "The number of final transactions that were tried.", 12_431),
  would_hold: field(
    Schema.Struct({ count, first: field(Schema.Array(Held), named, []) }).annotate({
      identifier: "RehearsedHolds",
      description: "Transactions that the policy would have held."
    }),
    "Transactions that were mined at a base fee above the wanted gas_price_cap, and legacy ones with a price above it."
  ),
  would_refuse: field(Schema.Array(Refused), "Transactions that the policy would have refused, by field.", []),
  unknown: field(Schema.Array(Shown.Words), "What the stored transactions do not tell.", [
    "base fees of blocks in which the relayer did not send"
  ])
}).annotate({
  identifier: "PolicyRehearsal",
  description: "What a policy would have done to past transactions. The policy was not changed."
})
export type Rehearsal = typeof Rehearsal.Type

/** What the answer never knows. */
export const unknownToRehearsals = [
  "base fees of blocks in which the relayer did not send",
  "whether a transaction that was held would have been sent before its deadline"
] as const

/**
 * The least price per gas at which its block took the transaction: the base fee at least. A block's producer gets the tip, so
 * the base fee is what was paid without it. A legacy transaction does not tell the two apart: its whole price counts.
 */
const floorOf = ({ attempts, mined }: Transaction<Evm>): bigint | undefined => {
  const executing = attempts.filter((attempt) => !isNoop(attempt))
  const attempt = mined === undefined ? executing.at(-1) : executing.find(({ ordinal }) => ordinal === mined.ordinal)
  if (attempt === undefined) return undefined
  const { fees } = attempt.offer
  if (fees.type === "legacy") return fees.gasPrice
  const paid = mined?.receipt.details.effectiveGasPrice ?? 0n
  return paid === 0n ? undefined : paid - fees.tip
}

/** Whether the lane would have waited for a lower price. A request that gives its fees is refused instead. */
const isHeld = (transaction: Transaction<Evm>, { cap }: EvmTerms): boolean => {
  const given = givenFees(newestRequest(transaction))
  if (cap === undefined || (given !== undefined && maxFeeOf(given) > cap)) return false
  const floor = floorOf(transaction)
  return floor !== undefined && floor > cap
}

/** What the policy would have done to one transaction. */
export type RehearsalVerdict =
  | { readonly _tag: "Refused"; readonly field: string; readonly message: string }
  | { readonly _tag: "Held" }
  | { readonly _tag: "Sent" }

/** A refusal comes first: a transaction that is not accepted is not held. */
export const judgeByPolicy = (transaction: Transaction<Evm>, wanted: EvmTerms): RehearsalVerdict => {
  // What was private stays private, also under a policy that does not ask for it: its request may have asked.
  const terms = { ...wanted, isPrivate: wanted.isPrivate || transaction.route !== undefined }
  const withoutUrls = privateViolation({}, terms)
  const field = wanted.isPrivate ? "policies.private_transactions" : "private"
  const [violation] = [
    ...storedViolationsOf(newestRequest(transaction), terms),
    ...(withoutUrls === undefined ? [] : [{ ...withoutUrls, field }])
  ]
  if (violation !== undefined) return { _tag: "Refused", ...violation }
  return { _tag: isHeld(transaction, terms) ? "Held" : "Sent" }
}

// The base fees of the blocks that could have contained a transaction. Compared with its offers, they show why it waited.

/** The most points of a response. A plot has no room for more. */
export const maxFeePoints = 512

/** The most blocks of one `eth_feeHistory` call: geth, Nethermind, Erigon, Besu and reth allow 1024. */
export const blocksPerCall = 1024

/** The most blocks that are read: a day of 12-second blocks, or four and a half hours of 2-second blocks. */
export const maxFeeBlocks = 8 * blocksPerCall

/** Blocks after the one that contains the transaction, so that the transaction is not at the edge of a plot. */
const blocksAfter = 2

const BlockFee = Schema.Struct({
  number: field(Schema.Natural, "Height of the block.", 19_000_000),
  at: field(
    Instant,
    "When it was made. Between the first and the last block, computed as if all took the same time.",
    "2026-11-22T12:00:00.000Z"
  ),
  base_fee: field(Shown.Digits, "Base fee in wei per gas.", "42000000000")
}).annotate({ identifier: "BlockFee", description: "The base fee of a block." })

export const TransactionFees = Schema.Struct({
  cap: shown(
    Shown.Digits,
    "`gas_price_cap` of the relayer's policy now, in wei per gas. Absent if there is none.",
    "60000000000"
  ),
  blocks: field(
    Schema.Array(BlockFee),
    `Blocks from its acceptance until it was mined, or until now, in order. At most ${maxFeePoints}: if there are more, each stands for as many, and is the one with the lowest base fee among them. Empty on a network without base fees.`,
    []
  )
}).annotate({
  identifier: "TransactionFees",
  description: "Base fees of the blocks in which the transaction could be mined."
})
export type TransactionFees = typeof TransactionFees.Type

/** The newest block of the chain. `blockTime`: milliseconds. */
export interface ChainNow extends Point {
  readonly blockTime: number
}

/** Heights, both inclusive. */
export interface Heights {
  readonly first: number
  readonly last: number
}

/** The earliest moment with a known height: the first send, or else the newest block. */
const anchorOf = ({ attempts }: Transaction<Evm>, now: ChainNow): Point =>
  attempts.find(({ firstSent }) => firstSent !== undefined)?.firstSent ?? now

/**
 * The blocks from the acceptance of the transaction until it was mined, or else ended, or else until now. If only the moment
 * of a height is known, the height is estimated with the network's block time.
 */
export const heightsOf = (transaction: Transaction<Evm>, now: ChainNow): Heights => {
  const anchor = anchorOf(transaction, now)
  const heightAt = (at: Moment): number => anchor.height + Math.round((at - anchor.at) / now.blockTime)
  const { mined, createdAt, causeSince } = transaction
  const end =
    mined === undefined
      ? isFinal(transaction)
        ? heightAt(causeSince)
        : now.height
      : mined.receipt.height + blocksAfter
  const last = Math.max(0, Math.min(end, now.height))
  return { first: Math.min(last, Math.max(0, heightAt(createdAt), last - maxFeeBlocks + 1)), last }
}

/** Splits the heights into the parts that one call can answer. */
export const callsFor = ({ first, last }: Heights): ReadonlyArray<Heights> =>
  Array.from({ length: Math.ceil((last - first + 1) / blocksPerCall) }, (_, index) => {
    const from = first + index * blocksPerCall
    return { first: from, last: Math.min(last, from + blocksPerCall - 1) }
  })

export interface BaseFee {
  readonly number: number
  readonly baseFee: bigint
}

/** At most `maxPoints` points. Each is the lowest base fee of a group of blocks: a lower offer fitted into no block of the group. */
const thinned = (fees: ReadonlyArray<BaseFee>): ReadonlyArray<BaseFee> => {
  const size = Math.ceil(fees.length / maxFeePoints)
  if (size <= 1) return fees
  return Array.from({ length: Math.ceil(fees.length / size) }, (_, index) =>
    fees.slice(index * size, (index + 1) * size).reduce((lowest, fee) => (fee.baseFee < lowest.baseFee ? fee : lowest))
  )
}

/** The moments of the first and the last block, in milliseconds. */
export interface BlockTimes {
  readonly first: Moment
  readonly last: Moment
}

export const pointsOf = (fees: ReadonlyArray<BaseFee>, { first, last }: Heights, times: BlockTimes) =>
  thinned(fees).map(({ number, baseFee }) => ({
    number,
    at: DateTime.makeUnsafe(
      Math.round(times.first + ((number - first) * (times.last - times.first)) / Math.max(1, last - first))
    ),
    base_fee: baseFee
  }))
