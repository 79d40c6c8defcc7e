// The limits of stellar relayers.
import { Schema } from "effect"
import { Uint64 } from "../chain/Amount.ts"
import { added, field } from "../request/Field.ts"
import { list, maybe } from "../request/Text.ts"
import {
  cron,
  CronSchedule,
  doc,
  feeMargin,
  FeePaymentStrategy,
  feePayment,
  Percentage,
  priceSource,
  pricing,
  tokens,
  TokenSwap,
  tokenSwap
} from "./PolicyFields.ts"

const StellarAsset = Schema.String.check(
  Schema.isPattern(/^(|native|XLM|C[A-Z2-7]{55}|[A-Za-z0-9]{1,12}:G[A-Z2-7]{55})$/u, {
    expected: "native, XLM, CODE:ISSUER or a contract address"
  })
)

const StellarToken = Schema.Struct({
  asset: field(
    StellarAsset,
    "`native`, `XLM`, CODE:ISSUER or a contract address.",
    "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
  ),
  max_allowed_fee: maybe(Uint64, doc("Highest fee in units of the asset.", 1000000)),
  ...pricing,
  swap_config: maybe(TokenSwap, tokenSwap)
})

const StellarSwap = Schema.Struct({
  strategies: field(
    Schema.Array(Schema.Literals(["order-book", "soroswap"])).check(Schema.isBetweenLength(1, 2)),
    "How to swap, in the order of preference.",
    ["order-book"]
  ),
  cron_schedule: maybe(CronSchedule, cron),
  min_balance_threshold: maybe(Uint64, doc("Stroops below which tokens are swapped.", 100000000))
})

/** Operations that no relayer signs by itself unless its policy says so. What gives the account away is not among them. */
export const allowableOperations = [
  "createAccount",
  "manageSellOffer",
  "createPassiveSellOffer",
  "manageBuyOffer",
  "allowTrust",
  "manageData",
  "createClaimableBalance",
  "claimClaimableBalance",
  "beginSponsoringFutureReserves",
  "endSponsoringFutureReserves",
  "revokeSponsorship",
  "clawback",
  "clawbackClaimableBalance",
  "setTrustLineFlags",
  "liquidityPoolDeposit",
  "liquidityPoolWithdraw"
] as const

/** Accounts that a lane of stellar may use besides the relayer's own. */
export const maxChannels = 100

/** Base reserves that a channel locks on the account of its relayer: two for the account, one for its signer. */
const channelReserves = 3n

/** Stroops of a base reserve on the public network (`LedgerHeader.baseReserve`). Validators of another one may have voted otherwise. */
export const publicBaseReserve = 5_000_000n

/** Base reserves of an account without entries. */
export const ownReserves = 2n

/** Stroops that this number of channels locks on the account of the relayer. */
export const lockedBy = (channels: number, baseReserve = publicBaseReserve): bigint =>
  BigInt(channels) * channelReserves * baseReserve

/** Accounts besides that of the relayer, whose sequences its transactions use. */
const StellarChannels = Schema.Struct({
  count: field(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxChannels })),
    "How many channels the relayer has. Each one locks three base reserves of the relayer (1.5 XLM on the public network), and the service ends those that are too many.",
    5
  )
})

/** Seconds between which `timeout_seconds` is used as it is given. */
export const timeoutBounds = { minimum: 15, maximum: 300 } as const

export const StellarPolicy = Schema.Struct({
  fee_payment_strategy: maybe(FeePaymentStrategy, doc(`${feePayment} The default is \`relayer\`.`, "relayer")),
  min_balance: maybe(Uint64, doc("Stroops that must stay on the account. The default is 1000000.", 1000000)),
  max_fee: maybe(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 })),
    doc("Highest fee of a transaction in stroops.", 100000)
  ),
  timeout_seconds: maybe(
    Uint64,
    doc(
      "Seconds for which an envelope is valid. Below 15 and above 300, the nearest of both is used, and `explain` of the relayer warns.",
      60
    )
  ),
  concurrent_transactions: maybe(
    Schema.Boolean,
    doc("Whether several transactions may be sent at the same time. The default is false.", false)
  ),
  channels: maybe(StellarChannels, {
    description: added(
      "Accounts that the service makes so that several transactions are in each ledger. If absent, none."
    )
  }),
  allowed_tokens: maybe(list(StellarToken), { description: tokens }),
  fee_margin_percentage: maybe(Percentage(1000), feeMargin),
  slippage_percentage: maybe(
    Percentage(100),
    doc("By how many percent a payment of a user may be too low, because the price moved. The default is 1.", 1)
  ),
  price_source: priceSource,
  allowed_operations: maybe(
    Schema.Array(Schema.Literals(allowableOperations)).check(Schema.isMaxLength(100), Schema.isUnique()),
    doc(
      added(
        "Operations that unsigned envelopes may contain besides payments, path payments, changes of trust lines and calls of contracts. `accountMerge`, `setOptions` and `bumpSequence` cannot be allowed."
      ),
      ["manageData" as const]
    )
  ),
  sponsor_time_limit_seconds: maybe(
    Schema.Int.check(Schema.isBetween({ minimum: 15, maximum: 300 })),
    doc(
      added(
        "Seconds that the `maxTime` of an envelope may lie ahead if others sign it or send it. The default is 300. If users pay, at most 120 count."
      ),
      120
    )
  ),
  max_subentries: maybe(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
    doc(
      added("Entries of the account, such as trust lines, after a change of trust lines at most. The default is 20."),
      20
    )
  ),
  swap_config: maybe(StellarSwap, {
    description: "How the relayer swaps tokens for XLM. Only if the fee payment strategy is `user`."
  })
})
  .check(
    Schema.makeFilter((policy) =>
      policy.swap_config === undefined || policy.fee_payment_strategy === "user"
        ? undefined
        : { path: ["swap_config"], issue: "is only supported if the fee payment strategy is user" }
    )
  )
  .annotate({
    identifier: "StellarPolicy",
    description: "Limits of a stellar relayer.",
    toJsonSchema: () => [{}, true]
  })
export type StellarPolicy = typeof StellarPolicy.Type
