// The price and the limit of compute units that a message offers.
import { Effect } from "effect"
import { isWritable } from "../../../domain/transaction/solana/Message.ts"
import type { WireTransaction } from "../../../domain/transaction/solana/Message.ts"
import type { SolanaRequest } from "../../../domain/transaction/solana/Solana.ts"
import * as Numbers from "../../../domain/transaction/solana/SolanaNumbers.ts"
import * as Calls from "../../chains/solana/SolanaCalls.ts"
import type { SolanaProviders } from "../../chains/solana/SolanaNodes.ts"

/** The accounts that set the price of a message. */
export const writtenBy = ({ message }: WireTransaction): ReadonlyArray<string> =>
  message.keys.filter((_, index) => isWritable(message, index)).slice(0, Numbers.maxPricedAccounts)

/** What recent blocks took for the accounts that the message writes, in micro-lamports per compute unit, the lowest first. */
export const pricesOf = (providers: SolanaProviders, wire: WireTransaction) =>
  Effect.map(
    providers.first((node) => node.call(Calls.prioritizationFees(writtenBy(wire)))),
    (fees) =>
      fees
        .map(({ prioritizationFee }) => prioritizationFee)
        .toSorted((one, other) => (one < other ? -1 : one > other ? 1 : 0))
  )

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
