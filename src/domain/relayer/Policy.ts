// Policies: the limits of relayers, per network type.
import { Cron, Result, Schema } from "effect"
import { PriceBounds, PriceSource, TokenPrice } from "../price/Price.ts"
import * as Change from "../request/Change.ts"
import { added, field, judged } from "../request/Field.ts"
import type { Unit } from "../request/Field.ts"
import {
  CheckedEvmAddress,
  CheckedEvmCall,
  CheckedSolanaAddress,
  PositiveDecimalUint128,
  PositiveDecimalUint64,
  PositiveUint64,
  shapedPrograms,
  Uint128,
  Uint64
} from "../chain/Amount.ts"
import { list, maybe, text } from "../request/Shown.ts"
import type { Documentation } from "../request/Shown.ts"
import { EvmTopUp, SolanaTopUp, StellarTopUp } from "./TopUp.ts"

// Fields that policies of several network types have.

const Percentage = (maximum: number) => Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum }))
const FeePaymentStrategy = Schema.Literals(["user", "relayer"])

/** Seconds, minutes, hours, day of month, month, day of week and, optionally, year. */
const CronSchedule = text(1, 256).check(
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

/** A field of a policy that says what a change of it means. `unit`: people enter an amount in a larger unit. */
const rule =
  (change: Change.Meaning) =>
  <S extends Schema.Constraint>(schema: S, documentation: Documentation<S["Encoded"]>, unit?: Unit) =>
    maybe(schema, { ...documentation, change, ...(unit === undefined ? {} : { unit }) })

const harmless = rule(Change.harmless)
const decisive = rule(Change.decisive)
const upperLimit = rule(Change.upperLimit)
const lowerLimit = rule(Change.lowerLimit)
const secrecy = rule(Change.secrecy)
const audience = rule(Change.audience)
const onlyListed = rule(Change.onlyListed)
const alsoListed = rule(Change.alsoListed)
const besidesListed = rule(Change.besidesListed)
const exceptListed = rule(Change.exceptListed)
const payableTokens = rule(Change.payableTokens)

/** Documentation of an optional field. */
const doc = <const T>(description: string, example: T) => ({ description, examples: [example] })

const feePayment = "Who pays the fees: the relayer, or the user in a token."
const feeMargin = doc("Percentage that is added to estimated fees.", 5)
const cron = doc("When to swap: a cron schedule of 6 or 7 fields, seconds first.", "0 0 */6 * * *")
const tokens = "Tokens that users may pay with. If absent or empty, none."

/** Additions to a token that users may pay with. */
const pricing = {
  price: harmless(TokenPrice, { description: added("The price, if the price source is `fixed`.") }),
  price_bounds: decisive(PriceBounds, { description: added("Bounds of the price. If absent, there are none.") })
}

const priceSource = decisive(PriceSource, {
  description: added("Where the prices of tokens come from. If absent, there is none, so no user can pay.")
})

const TokenSwap = Schema.Struct({
  slippage_percentage: upperLimit(Percentage(100), doc("Highest slippage in percent. The default is 1.", 1)),
  min_amount: harmless(Uint64, doc("Smallest amount to swap, in units of the token.", 1000000)),
  max_amount: harmless(Uint64, doc("Largest amount to swap, in units of the token.", 1000000000)),
  retain_min_amount: harmless(Uint64, doc("Units of the token that stay on the account.", 1000000))
}).annotate({ identifier: "TokenSwap" })

const tokenSwap = { description: "When the relayer swaps the token for the native one." }

const topUp = {
  description: added(
    "From which relayer the account gets native tokens when its balance is low. If absent, from none. A caller that sets it needs `relayers:write` for both relayers, and no `transaction_limits`."
  )
}

const outPerDay = (unit: string, example: string) =>
  doc(
    added(
      `${unit} that the relayer pays at most in any 24 hours for top-ups of all relayers that name it. If absent, their own limits count alone.`
    ),
    example
  )

/** Stands for creations in a list of receivers: they have no address. */
export const contractCreation = "contract_creation"

/** Stands for the accounts of the authorizations of a transaction in a list of receivers. */
export const authorityReceiver = "authority"

export const EvmPolicy = Schema.Struct({
  eip1559_pricing: harmless(
    Schema.Boolean,
    doc("Whether fees are priced by EIP-1559. If absent, they are if the network has that feature.", true)
  ),
  gas_limit_estimation: harmless(
    Schema.Boolean,
    doc(
      "Whether gas limits are estimated. If false, every transaction must have its gas limit. The default is true.",
      true
    )
  ),
  gas_price_cap: upperLimit(
    Uint128,
    doc("Highest price in wei per gas. If absent, there is no cap.", 90000000000),
    "price"
  ),
  include_revert_data: harmless(
    Schema.Boolean,
    doc("Whether the revert data of failed transactions is read. The default is false.", false)
  ),
  min_balance: harmless(
    Uint128,
    doc("Wei that must stay on the account. The default is 1.", "100000000000000000"),
    "native"
  ),
  private_transactions: secrecy(
    Schema.Boolean,
    doc(
      "Whether only private RPC URLs get the transactions, until they are mined or fall back. While there is no private RPC URL, sends are answered with 409 `no_private_rpc`. The default is false.",
      false
    )
  ),
  private_fallback_after_seconds: lowerLimit(
    Schema.Int.check(Schema.isBetween({ minimum: 30, maximum: 604_800 })),
    doc(
      "Seconds after which a private transaction becomes public, while its nonce is the next one of the chain. If absent, it does not.",
      120
    )
  ),
  private_estimates: audience(
    Schema.Literals(["private", "normal"]),
    doc(
      "Which RPC URLs see the call of a private transaction before it is mined, to estimate its gas and to simulate it. `private`, the default: private ones alone. `normal`: normal ones, as for other transactions.",
      "private"
    )
  ),
  whitelist_receivers: onlyListed(
    list(Schema.Union([CheckedEvmAddress, Schema.Literals([contractCreation, authorityReceiver])])),
    doc(
      "Addresses that transactions may be sent to, `contract_creation` for creations, and `authority` for the accounts whose authorizations a transaction carries. If absent, everything is allowed; if empty, only the relayer's own address. It may always receive plain transfers; data for it is refused, because code of the account could call anybody.",
      ["0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"]
    )
  ),
  whitelist_selectors: onlyListed(
    list(CheckedEvmCall),
    doc(
      "The only calls that transactions may make, besides `whitelist_receivers`: each a contract, a colon, and the selector of a function, or `0x` for a transfer without data. If absent, all calls; if it is there, nothing else is sent: no creations, and no data of one to three bytes, which calls no function. The relayer's own address may always receive plain transfers.",
      ["0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed:0xa9059cbb"]
    )
  ),
  top_up: decisive(EvmTopUp, topUp),
  top_up_out_per_day: upperLimit(PositiveDecimalUint128, outPerDay("Wei", "5000000000000000000"), "native"),
  allowed_delegates: alsoListed(
    list(CheckedEvmAddress),
    doc(
      "Contracts that authorizations (EIP-7702) in `authorization_list` may delegate accounts to; the zero address allows to end delegations. If absent or empty, no transaction carries authorizations.",
      ["0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed"]
    )
  )
}).annotate({ identifier: "EvmPolicy", description: "Limits of an evm relayer." })
export type EvmPolicy = typeof EvmPolicy.Type

const SolanaToken = Schema.Struct({
  mint: judged(
    field(CheckedSolanaAddress, "Mint of the token.", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    Change.harmless
  ),
  decimals: harmless(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })),
    doc("Decimals of the token.", 6)
  ),
  symbol: harmless(text(1, 64), doc("Symbol of the token, for people.", "USDC")),
  max_allowed_fee: upperLimit(Uint64, doc("Highest fee in units of the token.", 1000000)),
  ...pricing,
  swap_config: harmless(TokenSwap, tokenSwap)
})

const JupiterOptions = Schema.Struct({
  priority_fee_max_lamports: harmless(Uint64, doc("Highest priority fee in lamports.", 100000), "native"),
  priority_level: harmless(
    Schema.Literals(["medium", "high", "veryHigh"]),
    doc("Level of the priority fee.", "medium")
  ),
  dynamic_compute_unit_limit: harmless(Schema.Boolean, doc("Whether the compute unit limit is estimated.", true))
}).check(
  Schema.makeFilter((options) =>
    (options.priority_level === undefined) === (options.priority_fee_max_lamports === undefined)
      ? undefined
      : { path: ["priority_level"], issue: "must be given together with priority_fee_max_lamports" }
  )
)

const SolanaSwap = Schema.Struct({
  strategy: harmless(
    Schema.Literals(["jupiter-swap", "jupiter-ultra", "noop"]),
    doc("How to swap. `noop` does not swap.", "jupiter-swap")
  ),
  cron_schedule: harmless(CronSchedule, cron),
  min_balance_threshold: harmless(Uint64, doc("Lamports below which tokens are swapped.", 100000000), "native"),
  jupiter_swap_options: harmless(JupiterOptions, { description: "Options of the strategy `jupiter-swap`." })
}).check(
  Schema.makeFilter((swap) =>
    swap.jupiter_swap_options === undefined || swap.strategy === "jupiter-swap"
      ? undefined
      : { path: ["jupiter_swap_options"], issue: "is only valid for the jupiter-swap strategy" }
  )
)

/** Extensions of mints by which the issuer takes back, reduces or blocks what a user pays. */
const tokenExtensions = [
  "transfer_fee",
  "transfer_hook",
  "permanent_delegate",
  "confidential_transfer",
  "pausable",
  "default_account_state",
  "non_transferable"
] as const
export type TokenExtension = (typeof tokenExtensions)[number]

const AuthorityProgram = CheckedSolanaAddress.check(
  Schema.makeFilter((program: string) => !shapedPrograms.has(program), {
    expected: "a program other than System, Token, Token-2022, Associated Token Account and Memo",
    toJsonSchema: () => [{}, true]
  })
)

const solanaAccounts = ["9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"]

export const SolanaPolicy = Schema.Struct({
  fee_payment_strategy: harmless(FeePaymentStrategy, doc(`${feePayment} The default is \`user\`.`, "relayer")),
  min_balance: harmless(
    Uint64,
    doc("Lamports that must stay on the account. The default is 10000000.", 10000000),
    "native"
  ),
  max_tx_data_size: harmless(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65535 })),
    doc("Largest transaction in bytes. The default is 1232, the size of a packet, and 4096 for version 1.", 1232)
  ),
  max_signatures: harmless(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })),
    doc("Most signatures of a transaction.", 8)
  ),
  allowed_programs: onlyListed(
    list(CheckedSolanaAddress),
    doc("Programs that transactions may call. If absent, all programs are allowed.", [
      "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
    ])
  ),
  allowed_accounts: onlyListed(
    list(CheckedSolanaAddress),
    doc("Accounts that transactions may use. Excludes `disallowed_accounts`.", solanaAccounts)
  ),
  disallowed_accounts: exceptListed(
    list(CheckedSolanaAddress),
    doc("Accounts that transactions must not use. Excludes `allowed_accounts`.", solanaAccounts)
  ),
  allowed_tokens: payableTokens(list(SolanaToken), { description: tokens }),
  fee_margin_percentage: harmless(Percentage(1000), feeMargin),
  max_allowed_fee_lamports: upperLimit(
    PositiveUint64,
    doc("Highest fee of a transaction in lamports. The default is 1000000.", 100000),
    "native"
  ),
  slippage_percentage: upperLimit(
    Percentage(100),
    doc(added("By how many percent a payment of a user may be too low, because the price moved. The default is 1."), 1)
  ),
  price_source: priceSource,
  allowed_extensions: besidesListed(
    list(Schema.Literals(tokenExtensions)),
    doc(
      added(
        "Extensions of Token-2022 that fee tokens may have although the issuer of such a token can take back or reduce a payment. If absent, none."
      ),
      ["transfer_fee"]
    )
  ),
  fee_payer_as_authority: decisive(
    Schema.Literals(["own_instructions", "never", "always"]),
    doc(
      added(
        "Where instructions may list the relayer: in requests of the form `instructions` (the default), nowhere, or in prebuilt transactions as well, in the same shapes. `always` needs `authority_programs`."
      ),
      "own_instructions"
    )
  ),
  authority_programs: alsoListed(
    list(AuthorityProgram),
    doc(
      added(
        "Programs that get the relayer as a writable signer: they can do everything with its account. If absent, none."
      ),
      ["JUP6LkbZbjS1jKKwapdHNy74zcZ3tLUZoi5QNyVTaV4"]
    )
  ),
  max_lamports_out: upperLimit(
    Uint64,
    doc(added("Most lamports that one transaction may spend besides its fee. If absent, there is no limit."), 1000000),
    "native"
  ),
  swap_config: harmless(SolanaSwap, {
    description:
      "How the relayer swaps tokens for lamports. Only if the fee payment strategy is `user`. It is stored and not executed."
  }),
  top_up: decisive(SolanaTopUp, topUp),
  top_up_out_per_day: upperLimit(PositiveDecimalUint64, outPerDay("Lamports", "5000000000"), "native")
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
        : { path: ["swap_config"], issue: "is only supported if the fee payment strategy is user" }
    ),
    Schema.makeFilter((policy) =>
      policy.fee_payer_as_authority !== "always" || (policy.authority_programs ?? []).length > 0
        ? undefined
        : { path: ["authority_programs"], issue: "must name a program if fee_payer_as_authority is always" }
    )
  )
  .annotate({ identifier: "SolanaPolicy", description: "Limits of a solana relayer.", toJsonSchema: () => [{}, true] })
export type SolanaPolicy = typeof SolanaPolicy.Type

// The limits of stellar relayers.

const StellarAsset = Schema.String.check(
  Schema.isPattern(/^(|native|XLM|C[A-Z2-7]{55}|[A-Za-z0-9]{1,12}:G[A-Z2-7]{55})$/u, {
    expected: "native, XLM, CODE:ISSUER or a contract address",
    // The address of a made-up contract: 32 bytes with the value 7.
    arbitraryConstraint: {
      patterns: [
        {
          source: "^(native|XLM|[A-Za-z0-9]{1,12}:GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI)$",
          flags: ""
        }
      ]
    }
  })
)

const StellarToken = Schema.Struct({
  asset: judged(
    field(
      StellarAsset,
      "`native`, `XLM`, CODE:ISSUER or a contract address.",
      "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
    ),
    Change.harmless
  ),
  max_allowed_fee: upperLimit(Uint64, doc("Highest fee in units of the asset.", 1000000)),
  ...pricing,
  swap_config: harmless(TokenSwap, tokenSwap)
})

const StellarSwap = Schema.Struct({
  strategies: field(
    Schema.Array(Schema.Literals(["order-book", "soroswap"])).check(Schema.isBetweenLength(1, 2)),
    "How to swap, in the order of preference.",
    ["order-book"]
  ),
  cron_schedule: harmless(CronSchedule, cron),
  min_balance_threshold: harmless(Uint64, doc("Stroops below which tokens are swapped.", 100000000), "native")
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
  fee_payment_strategy: harmless(FeePaymentStrategy, doc(`${feePayment} The default is \`relayer\`.`, "relayer")),
  min_balance: harmless(
    Uint64,
    doc("Stroops that must stay on the account. The default is 1000000.", 1000000),
    "native"
  ),
  max_fee: upperLimit(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 32 - 1 })),
    doc("Highest fee of a transaction in stroops.", 100000),
    "native"
  ),
  timeout_seconds: harmless(
    Uint64,
    doc(
      "Seconds for which an envelope is valid. Below 15 and above 300, the nearest of both is used, and `explain` of the relayer warns.",
      60
    )
  ),
  concurrent_transactions: harmless(
    Schema.Boolean,
    doc("Whether several transactions may be sent at the same time. The default is false.", false)
  ),
  channels: decisive(StellarChannels, {
    description: added(
      "Accounts that the service makes so that several transactions are in each ledger. If absent, none."
    )
  }),
  allowed_tokens: payableTokens(list(StellarToken), { description: tokens }),
  fee_margin_percentage: harmless(Percentage(1000), feeMargin),
  slippage_percentage: upperLimit(
    Percentage(100),
    doc("By how many percent a payment of a user may be too low, because the price moved. The default is 1.", 1)
  ),
  price_source: priceSource,
  allowed_operations: besidesListed(
    Schema.Array(Schema.Literals(allowableOperations)).check(Schema.isMaxLength(100), Schema.isUnique()),
    doc(
      added(
        "Operations that unsigned envelopes may contain besides payments, path payments, changes of trust lines and calls of contracts. `accountMerge`, `setOptions` and `bumpSequence` cannot be allowed."
      ),
      ["manageData" as const]
    )
  ),
  sponsor_time_limit_seconds: harmless(
    Schema.Int.check(Schema.isBetween({ minimum: 15, maximum: 300 })),
    doc(
      added(
        "Seconds that the `maxTime` of an envelope may lie ahead if others sign it or send it. The default is 300. If users pay, at most 120 count."
      ),
      120
    )
  ),
  max_subentries: harmless(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })),
    doc(
      added("Entries of the account, such as trust lines, after a change of trust lines at most. The default is 20."),
      20
    )
  ),
  swap_config: harmless(StellarSwap, {
    description: "How the relayer swaps tokens for XLM. Only if the fee payment strategy is `user`."
  }),
  top_up: decisive(StellarTopUp, topUp),
  top_up_out_per_day: upperLimit(PositiveDecimalUint64, outPerDay("Stroops", "5000000000"), "native")
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
