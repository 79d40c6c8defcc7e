// Prices of tokens: so many units of a token cost so many of the smallest units of the native one. A price is an exact fraction, so
// that no fee is ever rounded twice.
import { Schema } from "effect"
import { PositiveUint64 } from "../chain/Amount.ts"
import { ShownUrl } from "../chain/Rpc.ts"
import { field } from "../request/Field.ts"
import type { Moment } from "../../networks/core/TransactionValues.ts"

export const TokenPrice = Schema.Struct({
  units: field(PositiveUint64, "Units of the token.", 150_000_000),
  native: field(PositiveUint64, "Lamports or stroops that so many units cost.", 1_000_000_000)
}).annotate({ identifier: "TokenPrice", description: "A price as an exact fraction." })
export type TokenPrice = typeof TokenPrice.Type

/** Negative: a unit of the first one is worth less. */
const compare = (one: TokenPrice, other: TokenPrice): bigint => one.native * other.units - other.native * one.units

export const PriceBounds = Schema.Struct({
  min: field(TokenPrice, "The lowest price of a unit.", { units: 300_000_000, native: 1_000_000_000 }),
  max: field(TokenPrice, "The highest price of a unit.", { units: 75_000_000, native: 1_000_000_000 })
})
  .check(
    Schema.makeFilter(({ min, max }) =>
      compare(min, max) <= 0n ? undefined : { path: ["max"], issue: "must not be below min" }
    )
  )
  .annotate({
    identifier: "TokenPriceBounds",
    description: "Between which prices the relayer accepts the token. A price of a unit outside of them is not used.",
    toJsonSchema: () => [{}, true]
  })
export type PriceBounds = typeof PriceBounds.Type

const FixedPrices = Schema.Struct({
  type: field(Schema.Literal("fixed"), "The prices are those of the tokens in `allowed_tokens`.", "fixed")
}).annotate({ identifier: "FixedPriceSource", description: "Prices that the policy has." })

const HttpPrices = Schema.Struct({
  type: field(Schema.Literal("http"), "The prices come from a URL.", "http"),
  url: field(
    ShownUrl,
    'The service asks it with the query `network` (such as `solana:mainnet-beta`) and `token`. The answer is JSON of at most 4 kB: `{"units": "150000000", "native": "1000000000"}`, and optionally `at`, the time of the price.',
    "https://prices.example.com/rate"
  )
}).annotate({ identifier: "HttpPriceSource", description: "Prices that a URL of the operator has." })

export const PriceSource = Schema.Union([FixedPrices, HttpPrices]).annotate({
  identifier: "PriceSource",
  description: "Where the prices of tokens come from."
})
export type PriceSource = typeof PriceSource.Type

/** A price, and the moment that it is from. */
export interface Rate extends TokenPrice {
  readonly at: Moment
}

export const isWithin = (price: TokenPrice, { min, max }: PriceBounds): boolean =>
  compare(min, price) <= 0n && compare(price, max) <= 0n

const roundUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

/** Units of the token that are worth at least so much of the native one. */
export const unitsFor = (native: bigint, price: TokenPrice): bigint => roundUp(native * price.units, price.native)

/** Percentages have at most this many decimals; further ones are rounded. */
const decimals = 6

const millionths = (percentage: number): bigint => BigInt(Math.round(percentage * 10 ** decimals))

const all = 100n * 10n ** BigInt(decimals)

/** The amount and so many percent more, rounded up. */
export const withMargin = (amount: bigint, percentage: number): bigint =>
  roundUp(amount * (all + millionths(percentage)), all)

/** The amount less so many percent, rounded up. */
export const lessSlippage = (amount: bigint, percentage: number): bigint =>
  roundUp(amount * (all - millionths(percentage)), all)

/** Default percentages of a policy: the margin is added to the fees of users; a payment may be too low by the slippage. */
export const defaultMargin = 0
export const defaultSlippage = 1

/** What a user is charged for a fee, in units of the native token and of the user's token. */
export interface Charge {
  readonly native: bigint
  readonly units: bigint
}

export const chargeOf = (fee: bigint, price: TokenPrice, { margin }: { readonly margin: number }): Charge => {
  const native = withMargin(fee, margin)
  return { native, units: unitsFor(native, price) }
}

/** An amount in whole tokens, without zeros at the end of the decimals. */
export const decimalOf = (units: bigint, places: number): string => {
  const digits = String(units).padStart(places + 1, "0")
  const whole = digits.slice(0, digits.length - places)
  const rest = digits.slice(digits.length - places).replace(/0+$/, "")
  return rest === "" ? whole : `${whole}.${rest}`
}

/** There is no price that the relayer may use now. */
export class PriceUnavailable extends Schema.TaggedError<PriceUnavailable>()("PriceUnavailable", {
  /** Says what is missing, without the URL. */
  reason: Schema.String
}) {
  override readonly message = this.reason
}
