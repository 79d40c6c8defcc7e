// Top-ups: from which relayer a relayer gets native tokens, when, and how many at most.
import { Schema } from "effect"
import { PositiveDecimalUint128, PositiveDecimalUint64 } from "../chain/Amount.ts"
import * as Change from "../request/Change.ts"
import { field, judged, measured } from "../request/Field.ts"
import { maybe, resourceId } from "../request/Shown.ts"

/**
 * Lamports that an account of solana without data needs to exist (rent exemption). It is the most that any cluster asks: SIMD-0437 lowers it
 * in five steps to a tenth, and SIMD-0438 never sets it higher than this.
 */
export const rentExemptMinimum = 890_880n

/** Hours for which balances are kept: 30 days. */
const maxRunwayHours = 720

interface Amounts {
  readonly amount: typeof PositiveDecimalUint128
  readonly unit: string
  /** What the balance is, if it is not all that the account has. */
  readonly remark?: string
  readonly shown: readonly [below: string, to: string, cap: string]
  /** The lowest `to` of the network type, and what it is. Absent: any. */
  readonly least?: { readonly amount: bigint; readonly name: string }
}

const topUpIn = ({ amount, shown, least, remark = "", unit }: Amounts) => {
  const [below, to, cap] = shown
  return Schema.Struct({
    from: field(
      resourceId,
      "The relayer that pays: on the same chain, with another account, and without `top_up`. While it is named, it cannot be deleted and gets no `top_up`.",
      "treasury"
    ),
    below: measured(field(amount, `${unit} below which the balance is topped up.${remark}`, below), "native"),
    to: measured(
      field(amount, `${unit} that the account has after a top-up. More than \`below\`.${remark}`, to),
      "native"
    ),
    max_per_day: judged(
      measured(
        field(amount, `${unit} that the account gets at most in any 24 hours. Fees of the payer are not counted.`, cap),
        "native"
      ),
      Change.upperLimit
    ),
    runway_hours: maybe(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxRunwayHours })), {
      change: Change.decisive,
      description:
        "The account is also topped up when the balance lasts for fewer hours, if as much is spent as in the last seven days. If absent, only `below` counts.",
      examples: [24]
    })
  })
    .check(
      Schema.makeFilter((given) =>
        given.to > given.below ? undefined : { path: ["to"], issue: "must be more than below" }
      ),
      Schema.makeFilter(({ to }) =>
        least === undefined || to >= least.amount
          ? undefined
          : { path: ["to"], issue: `must be at least ${least.amount}, ${least.name}` }
      )
    )
    .annotate({ toJsonSchema: () => [{}, true] })
}

/** Wei. */
export const EvmTopUp = topUpIn({
  amount: PositiveDecimalUint128,
  unit: "Wei",
  shown: ["50000000000000000", "200000000000000000", "1000000000000000000"]
}).annotate({ identifier: "EvmTopUp", description: "Who pays native tokens to the relayer, and when." })

/** Lamports. */
export const SolanaTopUp = topUpIn({
  amount: PositiveDecimalUint64,
  unit: "Lamports",
  shown: ["50000000", "200000000", "1000000000"],
  least: { amount: rentExemptMinimum, name: "the rent-exempt minimum" }
}).annotate({ identifier: "SolanaTopUp", description: "Who pays native tokens to the relayer, and when." })

/** Stroops that can be spent: without reserves. */
export const StellarTopUp = topUpIn({
  amount: PositiveDecimalUint64,
  unit: "Stroops",
  remark: " Reserves of the account do not count.",
  shown: ["50000000", "200000000", "1000000000"]
}).annotate({ identifier: "StellarTopUp", description: "Who pays native tokens to the relayer, and when." })

/** Of any network type, in the smallest unit. */
export interface TopUp {
  readonly from: string
  readonly below: bigint
  readonly to: bigint
  readonly max_per_day: bigint
  readonly runway_hours?: number
}

/** Names of payments, which users cannot give to their sends. */
export const topUpPrefix = "top-up:"

/** The name of a payment among the transactions of the payer. */
export const topUpName = (relayerNumber: number, sequence: number): string =>
  `${topUpPrefix}${relayerNumber}:${sequence}`
