// The price and the limit of compute units that a message offers.
import { Effect, Result } from "effect"
import { feeOf, totalFee } from "../../../domain/transaction/solana/Fee.ts"
import { isWritable } from "../../../domain/transaction/solana/Message.ts"
import type { WireTransaction } from "../../../domain/transaction/solana/Message.ts"
import { base64Of } from "../../../domain/transaction/solana/SendSolanaTransaction.ts"
import type { SolanaRequest } from "../../../domain/transaction/solana/Solana.ts"
import * as Numbers from "../../../domain/transaction/solana/SolanaNumbers.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"

/** The accounts that set the price of a message. */
export const writtenBy = ({ message }: WireTransaction): ReadonlyArray<string> =>
  message.keys.filter((_, index) => isWritable(message, index)).slice(0, Numbers.maxPricedAccounts)

/**
 * What recent blocks took for the accounts that the message writes, in micro-lamports per compute unit, the lowest first. Nodes keep the
 * newest blocks that had a transaction, of whatever age: those long before `slot` count for nothing.
 */
export const pricesOf = (providers: SolanaProviders, wire: WireTransaction, slot: number) =>
  Effect.map(
    providers.first((node) => node.call(Calls.prioritizationFees(writtenBy(wire)))),
    (fees) =>
      fees
        .filter((fee) => fee.slot + Numbers.pricedSlots >= slot)
        .map(({ prioritizationFee }) => prioritizationFee)
        .toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  )

/**
 * Lamports that a message costs. If its bytes leave the limit of compute units to the runtime, a node names them: `named` by its
 * simulation, or when it is asked. Without an answer, the most that they can be.
 */
export const chargeOf = Effect.fnUntraced(function* (
  providers: SolanaProviders,
  { message, messageBytes }: WireTransaction,
  named?: bigint
) {
  const { computeUnitPrice, isBound, signatures, total } = feeOf(message)
  if (isBound !== true) return total
  // One provider says it, so that it counts only within what the rules of the runtime allow.
  const least = totalFee(signatures, computeUnitPrice, Numbers.builtinComputeUnits * message.instructions.length)
  const believed = (lamports: bigint): bigint => (lamports < least ? least : lamports > total ? total : lamports)
  if (named !== undefined) return believed(named)
  const call = Calls.feeForMessage(base64Of(messageBytes))
  const asked = yield* Effect.result(providers.first((node) => node.call(call)))
  return Result.isSuccess(asked) ? believed(asked.success.value ?? total) : total
})

export const percentileOf = (sorted: ReadonlyArray<bigint>, speed: SolanaRequest["speed"] = "fast"): bigint =>
  sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * Numbers.pricePercentile[speed]) / 100))] ?? 0n

export const limitOf = ({ compute_unit_limit }: SolanaRequest, units: number | undefined): number | undefined => {
  if (compute_unit_limit !== undefined) return compute_unit_limit
  if (units === undefined) return undefined
  const { numerator, denominator, units: more } = Numbers.computeMargin
  return Math.min(Numbers.maxComputeUnits, Math.ceil((units * numerator) / denominator) + more)
}

/** A price whose fee is within the cap. */
export const within = (price: bigint, cap: bigint, floor: bigint, units: number): bigint => {
  const highest = cap <= floor ? 0n : ((cap - floor) * Numbers.microLamports) / BigInt(units)
  return price < highest ? price : highest
}
