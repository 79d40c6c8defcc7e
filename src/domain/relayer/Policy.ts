// What a relayer may do and spend, per network type. Every field is optional unless it says otherwise.
import { Cron, Result, Schema } from "effect"
import { PositiveUint64, Uint128, Uint64 } from "../chain/Amount.ts"
import { list, maybe, text } from "../request/Text.ts"

const matches = (pattern: RegExp, expected: string) => Schema.String.check(Schema.isPattern(pattern, { expected }))

const EvmAddress = matches(/^0x[0-9a-fA-F]{40}$/u, "an address: 0x and 40 hex digits")
const SolanaAddress = matches(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/u, "a base58 Solana address")
const StellarAsset = matches(
  /^(|native|XLM|C[A-Z2-7]{55}|[A-Za-z0-9]{1,12}:G[A-Z2-7]{55})$/u,
  "native, XLM, CODE:ISSUER or a contract address"
)

const Percentage = (maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum }))
const FeePaymentStrategy = Schema.Literals(["user", "relayer"])

/** Seconds, minutes, hours, day of month, month, day of week and, if need be, year. */
const CronSchedule = text(1, 256).check(
  Schema.makeFilter(
    (schedule: string) => {
      const fields = schedule.trim().split(/\s+/)
      return (fields.length === 6 || fields.length === 7) && Result.isSuccess(Cron.parse(fields.slice(0, 6).join(" ")))
    },
    {
      expected: "a cron schedule of 6 or 7 fields, seconds first",
      arbitraryConstraint: { patterns: [{ source: "^[0-5]?[0-9] [0-5]?[0-9] \\* \\* \\* \\*$", flags: "" }] }
    }
  )
)

export const EvmPolicy = Schema.Struct({
  /** Unset: priced by EIP-1559 where the network has it. False: legacy gas price. */
  eip1559_pricing: maybe(Schema.Boolean),
  /** Unset: estimated. False: every transaction must bring its gas limit. */
  gas_limit_estimation: maybe(Schema.Boolean),
  /** Wei per gas. Unset: no cap. */
  gas_price_cap: maybe(Uint128),
  /** Whether a failed transaction's revert data is fetched. Unset: no. */
  include_revert_data: maybe(Schema.Boolean),
  /** Wei that must stay on the account. Unset: 1. */
  min_balance: maybe(Uint128),
  private_transactions: maybe(Schema.Boolean),
  /** Unset: every receiver is allowed. */
  whitelist_receivers: maybe(list(EvmAddress))
}).annotate({ identifier: "EvmPolicy" })
export type EvmPolicy = typeof EvmPolicy.Type

const TokenSwap = Schema.Struct({
  /** Unset: 1 %. */
  slippage_percentage: maybe(Percentage(100)),
  min_amount: maybe(Uint64),
  max_amount: maybe(Uint64),
  retain_min_amount: maybe(Uint64)
})

const SolanaToken = Schema.Struct({
  mint: SolanaAddress,
  decimals: maybe(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))),
  symbol: maybe(text(1, 64)),
  /** Token units. */
  max_allowed_fee: maybe(Uint64),
  swap_config: maybe(TokenSwap)
})

const JupiterOptions = Schema.Struct({
  priority_fee_max_lamports: maybe(Uint64),
  priority_level: maybe(Schema.Literals(["medium", "high", "veryHigh"])),
  dynamic_compute_unit_limit: maybe(Schema.Boolean)
}).check(
  Schema.makeFilter((options) =>
    (options.priority_level === undefined) === (options.priority_fee_max_lamports === undefined)
      ? undefined
      : { path: ["priority_level"], issue: "must be given together with priority_fee_max_lamports" }
  )
)

const SolanaSwap = Schema.Struct({
  strategy: maybe(Schema.Literals(["jupiter-swap", "jupiter-ultra", "noop"])),
  cron_schedule: maybe(CronSchedule),
  /** Lamports below which tokens are swapped. */
  min_balance_threshold: maybe(Uint64),
  jupiter_swap_options: maybe(JupiterOptions)
}).check(
  Schema.makeFilter((swap) =>
    swap.jupiter_swap_options === undefined || swap.strategy === "jupiter-swap"
      ? undefined
      : { path: ["jupiter_swap_options"], issue: "is only valid for the jupiter-swap strategy" }
  )
)

export const SolanaPolicy = Schema.Struct({
  /** Unset: `user`. */
  fee_payment_strategy: maybe(FeePaymentStrategy),
  /** Lamports that must stay on the account. Unset: 10,000,000. */
  min_balance: maybe(Uint64),
  /** Bytes. Unset: 1232, the size of a packet. */
  max_tx_data_size: maybe(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65535 }))),
  max_signatures: maybe(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))),
  allowed_programs: maybe(list(SolanaAddress)),
  /** Excludes `disallowed_accounts`. */
  allowed_accounts: maybe(list(SolanaAddress)),
  disallowed_accounts: maybe(list(SolanaAddress)),
  allowed_tokens: maybe(list(SolanaToken)),
  fee_margin_percentage: maybe(Percentage(1000)),
  max_allowed_fee_lamports: maybe(PositiveUint64),
  /** Only where users pay. */
  swap_config: maybe(SolanaSwap)
})
  .check(
    Schema.makeFilter((policy) =>
      policy.allowed_accounts === undefined || policy.disallowed_accounts === undefined
        ? undefined
        : { path: ["disallowed_accounts"], issue: "cannot be given together with allowed_accounts" }
    ),
    Schema.makeFilter((policy) =>
      policy.swap_config === undefined || policy.fee_payment_strategy !== "relayer"
        ? undefined
        : { path: ["swap_config"], issue: "is only supported where the fee payment strategy is user" }
    )
  )
  .annotate({ identifier: "SolanaPolicy" })
export type SolanaPolicy = typeof SolanaPolicy.Type

const StellarToken = Schema.Struct({
  asset: StellarAsset,
  /** Asset units. */
  max_allowed_fee: maybe(Uint64),
  swap_config: maybe(TokenSwap)
})

const StellarSwap = Schema.Struct({
  strategies: Schema.Array(Schema.Literals(["order-book", "soroswap"])).check(Schema.isBetweenLength(1, 2)),
  cron_schedule: maybe(CronSchedule),
  /** Stroops below which tokens are swapped. */
  min_balance_threshold: maybe(Uint64)
})

export const StellarPolicy = Schema.Struct({
  /** Unset: `relayer`. */
  fee_payment_strategy: maybe(FeePaymentStrategy),
  /** Stroops that must stay on the account. Unset: 1,000,000. */
  min_balance: maybe(Uint64),
  /** Stroops. */
  max_fee: maybe(Schema.Int.check(Schema.isUint32())),
  timeout_seconds: maybe(Uint64),
  /** Unset: one transaction at a time. */
  concurrent_transactions: maybe(Schema.Boolean),
  allowed_tokens: maybe(list(StellarToken)),
  fee_margin_percentage: maybe(Percentage(1000)),
  slippage_percentage: maybe(Percentage(100)),
  /** Only where users pay. */
  swap_config: maybe(StellarSwap)
})
  .check(
    Schema.makeFilter((policy) =>
      policy.swap_config === undefined || policy.fee_payment_strategy === "user"
        ? undefined
        : { path: ["swap_config"], issue: "is only supported where the fee payment strategy is user" }
    )
  )
  .annotate({ identifier: "StellarPolicy" })
export type StellarPolicy = typeof StellarPolicy.Type
