// Fields that policies of several network types have.
import { Cron, Result, Schema } from "effect"
import { Uint64 } from "../chain/Amount.ts"
import { PriceBounds, PriceSource, TokenPrice } from "../price/Price.ts"
import { added } from "../request/Field.ts"
import { maybe, text } from "../request/Text.ts"

export const Percentage = (maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum }))
export const FeePaymentStrategy = Schema.Literals(["user", "relayer"])

/** Seconds, minutes, hours, day of month, month, day of week and, optionally, year. */
export const CronSchedule = text(1, 256).check(
  Schema.makeFilter(
    (schedule: string) => {
      const fields = schedule.trim().split(/\s+/)
      return (fields.length === 6 || fields.length === 7) && Result.isSuccess(Cron.parse(fields.slice(0, 6).join(" ")))
    },
    {
      expected: "a cron schedule of 6 or 7 fields, seconds first",
      toJsonSchema: () => [{}, true],
      arbitraryConstraint: { patterns: [{ source: "^[0-5]?[0-9] [0-5]?[0-9] \\* \\* \\* \\*$", flags: "" }] }
    }
  )
)

/** Documentation of an optional field. */
export const doc = <const T>(description: string, example: T) => ({ description, examples: [example] })

export const feePayment = "Who pays the fees: the relayer, or the user in a token."
export const feeMargin = doc("Percentage that is added to estimated fees.", 5)
export const cron = doc("When to swap: a cron schedule of 6 or 7 fields, seconds first.", "0 0 */6 * * *")
export const tokens = "Tokens that users may pay with. If absent or empty, none."

/** Additions to a token that users may pay with. */
export const pricing = {
  price: maybe(TokenPrice, { description: added("The price, if the price source is `fixed`.") }),
  price_bounds: maybe(PriceBounds, { description: added("Bounds of the price. If absent, there are none.") })
}

export const priceSource = maybe(PriceSource, {
  description: added("Where the prices of tokens come from. If absent, there is none, so no user can pay.")
})

export const TokenSwap = Schema.Struct({
  slippage_percentage: maybe(Percentage(100), doc("Highest slippage in percent. The default is 1.", 1)),
  min_amount: maybe(Uint64, doc("Smallest amount to swap, in units of the token.", 1000000)),
  max_amount: maybe(Uint64, doc("Largest amount to swap, in units of the token.", 1000000000)),
  retain_min_amount: maybe(Uint64, doc("Units of the token that stay on the account.", 1000000))
}).annotate({ identifier: "TokenSwap" })

export const tokenSwap = { description: "When the relayer swaps the token for the native one." }
