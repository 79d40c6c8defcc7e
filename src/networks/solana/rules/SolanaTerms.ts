// What a send to solana has to fulfil: the terms that the policy of its relayer sets, and checks that compare its fields.
import { minBalanceOf } from "../../../domain/health/Funding.ts"
import { finalityByOneOf } from "../../../domain/network/Network.ts"
import { defaultMargin, defaultSlippage } from "../../../domain/price/Price.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { present } from "../../core/Presentation.ts"
import { timing } from "../../core/TransactionRequests.ts"
import type { Moment } from "../../core/TransactionValues.ts"
import type { Form, GuardTerms, PaymentTerms } from "./Guard.ts"
import { computeBudgetProgram } from "./Programs.ts"
import { hasOwnBudget } from "./RequestBytes.ts"
import type { SolanaPolicyTerms, SolanaRequest, SolanaTarget } from "./Solana.ts"
import type { SendSolanaTransaction } from "./SolanaExchanges.ts"
import { addedInstructions, defaultMaxFee, defaultValidity, maxAccounts, maxInstructions } from "./SolanaNumbers.ts"

const lower = (one: bigint, other: bigint | undefined): bigint => (other === undefined || one < other ? one : other)

const lowest = (limits: ReadonlyArray<bigint | undefined>): bigint | undefined =>
  limits.reduce((least, one) => (one === undefined ? least : lower(one, least)), undefined)

export const guardTermsOf = (
  { relayer: { address, policies = {} } }: SolanaTarget,
  { max_fee_lamports, max_value }: Pick<SolanaRequest, "max_fee_lamports" | "max_value">
): GuardTerms => ({
  relayer: address,
  maxFee: lower(policies.max_allowed_fee_lamports ?? defaultMaxFee, max_fee_lamports),
  authority: policies.fee_payer_as_authority ?? "own_instructions",
  authorityPrograms: policies.authority_programs ?? [],
  feeMints: (policies.allowed_tokens ?? []).map(({ mint }) => mint),
  ...present("maxSpent", lowest([policies.max_lamports_out, max_value])),
  ...present("maxBytes", policies.max_tx_data_size),
  ...present("maxSignatures", policies.max_signatures),
  ...present("allowedPrograms", policies.allowed_programs),
  ...present("allowedAccounts", policies.allowed_accounts),
  ...present("disallowedAccounts", policies.disallowed_accounts)
})

export const solanaTermsOf = (
  target: SolanaTarget,
  request: SolanaRequest
): Omit<SolanaPolicyTerms, "isSponsored"> => ({
  minBalance: minBalanceOf("solana", target.relayer.policies),
  guard: guardTermsOf(target, request),
  blockTime: target.network.average_blocktime_ms,
  finalityByOne: finalityByOneOf(target.network)
})

/** What payments of users are worth, and which count. */
export const paymentTermsOf = ({ relayer: { address, policies = {} } }: SolanaTarget): PaymentTerms => ({
  relayer: address,
  tokens: policies.allowed_tokens ?? [],
  allowedExtensions: policies.allowed_extensions ?? [],
  margin: policies.fee_margin_percentage ?? defaultMargin,
  slippage: policies.slippage_percentage ?? defaultSlippage,
  ...present("priceSource", policies.price_source)
})

/** Whether the relayer pays fees itself. The other strategy needs a payment of the user. */
export const paysFees = ({ relayer: { policies = {} } }: SolanaTarget): boolean =>
  policies.fee_payment_strategy === "relayer"

/** Prebuilt transactions whose users pay are sponsored. */
export const formOf = (
  target: SolanaTarget,
  { transaction }: Pick<SolanaRequest, "transaction">
): Extract<Form, "instructions" | "prebuilt" | "sponsored"> => {
  if (transaction === undefined) return "instructions"
  return paysFees(target) ? "prebuilt" : "sponsored"
}

// Checks of a send to solana that compare its fields with each other, with its relayer and with the time.

export interface SolanaAdmission {
  readonly now: Moment
  /** Base58. */
  readonly relayerAddress: string
  /** Whether the relayer pays fees itself: `paysFees`. */
  readonly paysFees: boolean
}

type Rule = (request: SendSolanaTransaction, admission: SolanaAdmission) => Violation | undefined

const violation = (field: string, message: string): Violation => ({ field, message })

const oneForm: Rule = ({ transaction, instructions }) => {
  if ((transaction === undefined) !== (instructions === undefined)) return undefined
  return transaction === undefined
    ? violation("transaction", "is required unless instructions is given")
    : violation("transaction", "cannot be given together with instructions")
}

/** A prebuilt message has its price, its limit and its tables in its bytes. */
const onlyForInstructions = [
  "speed",
  "compute_unit_limit",
  "compute_unit_price",
  "address_lookup_tables",
  "version"
] as const

const notForPrebuilt: Rule = (request) => {
  const given = onlyForInstructions.find((name) => request[name] !== undefined)
  return request.transaction === undefined || given === undefined
    ? undefined
    : violation(given, "can only be given together with instructions")
}

const noTables: Rule = ({ version, address_lookup_tables }) =>
  version !== undefined && address_lookup_tables !== undefined
    ? violation("address_lookup_tables", "cannot be given together with version: version 1 has no lookup tables")
    : undefined

/** A caller who gives such an instruction wants its effect. */
const noBudget: Rule = ({ version, instructions = [] }) => {
  const index =
    version === undefined ? -1 : instructions.findIndex(({ program_id }) => program_id === computeBudgetProgram)
  return index < 0
    ? undefined
    : violation(
        `instructions.${index}.program_id`,
        "has no effect in version 1: use compute_unit_limit and compute_unit_price instead of the compute budget"
      )
}

const notForInstructions: Rule = ({ instructions, refresh }) =>
  instructions !== undefined && refresh === false
    ? violation(
        "refresh",
        "can only be false together with transaction: the service chooses the blockhash of instructions"
      )
    : undefined

const onePrice: Rule = ({ speed, compute_unit_price }) =>
  speed !== undefined && compute_unit_price !== undefined
    ? violation("speed", "cannot be given together with compute_unit_price")
    : undefined

/** The service adds its own of the compute budget, unless the request brings some, or is of version 1, which has none. */
const count: Rule = ({ version, instructions = [] }) => {
  if (version !== undefined || hasOwnBudget({ instructions })) return undefined
  if (instructions.length <= maxInstructions - addedInstructions) return undefined
  return violation(
    "instructions",
    `has ${instructions.length} instructions; at most ${maxInstructions - addedInstructions} are allowed, because the service adds ${addedInstructions} of the compute budget; with own ones of that program, ${maxInstructions} are allowed`
  )
}

const accounts: Rule = ({ instructions = [] }) => {
  const distinct = new Set(instructions.flatMap(({ accounts }) => accounts.map(({ pubkey }) => pubkey)))
  return distinct.size > maxAccounts
    ? violation("instructions", `names ${distinct.size} different accounts; at most ${maxAccounts} are allowed`)
    : undefined
}

const foreignSigner: Rule = ({ instructions = [] }, { relayerAddress }) => {
  for (const [index, { accounts }] of instructions.entries()) {
    const account = accounts.findIndex(({ pubkey, is_signer }) => is_signer && pubkey !== relayerAddress)
    if (account < 0) continue
    return violation(
      `instructions.${index}.accounts.${account}.is_signer`,
      "can only be true for the relayer; send a prebuilt transaction with the signatures of the others instead"
    )
  }
  return undefined
}

/** The simulation shows what is left of the relayer's account and of its tokens. */
export const unsimulated: Violation = violation("simulate", "cannot be false if an instruction lists the relayer")

const simulated: Rule = ({ instructions = [], simulate }, { relayerAddress }) =>
  simulate === false && instructions.some(({ accounts }) => accounts.some(({ pubkey }) => pubkey === relayerAddress))
    ? unsimulated
    : undefined

/** The fee is charged also if the transaction fails, and the payment is not. */
const simulatedPayment: Rule = ({ simulate }, { paysFees }) =>
  simulate === false && !paysFees
    ? violation("simulate", "cannot be false while the relayer's policy has fee_payment_strategy user")
    : undefined

/** The default strategy is `user`. */
const strategy: Rule = ({ instructions }, { paysFees }) =>
  instructions !== undefined && !paysFees
    ? violation(
        "instructions",
        "cannot be used while the relayer's policy has fee_payment_strategy user; send a prebuilt transaction with a payment, or set fee_payment_strategy to relayer"
      )
    : undefined

/** A send without `valid_until` ends thirty minutes after it may begin. */
const times = timing(defaultValidity)

export const { deadlineOf } = times

const rules: ReadonlyArray<Rule> = [
  oneForm,
  notForPrebuilt,
  noTables,
  noBudget,
  notForInstructions,
  onePrice,
  count,
  accounts,
  foreignSigner,
  simulated,
  simulatedPayment,
  strategy,
  times.deadline,
  times.beginning
]

/** Everything that is wrong with a request that was decoded, a field each. Empty: its bytes are checked next. */
export const violationsOf = (request: SendSolanaTransaction, admission: SolanaAdmission): ReadonlyArray<Violation> =>
  rules.flatMap((rule) => rule(request, admission) ?? [])
