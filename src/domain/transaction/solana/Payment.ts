// Payments of users to the relayer (rules V1 to V9): which instructions can be one, what it has to be worth, and what makes it count.
import { chargeOf, lessSlippage } from "../../price/Price.ts"
import type { PriceSource, TokenPrice } from "../../price/Price.ts"
import type { SolanaPolicy, TokenExtension } from "../../relayer/Policy.ts"
import type { AccountState, Derivations, Instruction } from "./Instruction.ts"
import * as LittleEndian from "./LittleEndian.ts"
import { isTokenProgram, systemProgram } from "./Programs.ts"
import type { SimulatedAccounts } from "./SimulatedRules.ts"

export type FeeToken = NonNullable<SolanaPolicy["allowed_tokens"]>[number]

export interface PaymentTerms {
  readonly relayer: string
  /** Absent in the policy: none. */
  readonly tokens: ReadonlyArray<FeeToken>
  readonly allowedExtensions: ReadonlyArray<TokenExtension>
  /** Absent: there are no prices. */
  readonly priceSource?: PriceSource
  /** Percentages. */
  readonly margin: number
  readonly slippage: number
}

/** SOL as a token. A payment in it is a transfer of lamports, or of wrapped ones. */
export const nativeToken = "So11111111111111111111111111111111111111112"

/** Lamports for lamports. */
export const nativePrice: TokenPrice = { units: 1n, native: 1n }

/** An instruction that transfers an allowed token to where the relayer has it. */
export interface Payment {
  readonly token: FeeToken
  /** A token program, or the System program for lamports. */
  readonly program: string
  readonly source: string
  /** The associated account of the relayer, or the relayer itself for lamports. */
  readonly destination: string
  readonly amount: bigint
}

/** Data of the instruction Transfer of the System program. */
const systemTransfer = { kind: 2, bytes: 12 } as const

/** Instructions of the token programs: their first byte, the length of their data, and their accounts. */
const tokenTransfers = {
  plain: { kind: 3, bytes: 9, accounts: 3 },
  checked: { kind: 12, bytes: 10, accounts: 4 }
} as const

/** A transfer of lamports to the relayer: the only instruction of a sponsored message that may list it. */
export const isNativePayment = ({ program, accounts, data }: Instruction, relayer: string): boolean =>
  program === systemProgram &&
  data.length === systemTransfer.bytes &&
  LittleEndian.u32(data, 0) === systemTransfer.kind &&
  accounts.length === 2 &&
  accounts[0] !== relayer &&
  accounts[1] === relayer

interface Transfer {
  readonly source: string
  readonly destination: string
  readonly authority: string
  /** Undefined: the instruction does not name it. */
  readonly mint: string | undefined
  readonly amount: bigint
}

/** Undefined: it is no transfer of tokens with a single authority. */
const transferOf = ({ accounts, data }: Instruction): Transfer | undefined => {
  const { checked, plain } = tokenTransfers
  const shape = data[0] === checked.kind ? checked : plain
  const amount = LittleEndian.u64(data, 1)
  if (data[0] !== shape.kind || data.length !== shape.bytes || accounts.length !== shape.accounts) return undefined
  if (amount === undefined) return undefined
  const [source = "", ...rest] = accounts
  const [mint, destination = "", authority = ""] = shape === checked ? rest : [undefined, ...rest]
  return { source, mint, destination, authority, amount }
}

const tokenPayment = (
  instruction: Instruction,
  signers: ReadonlySet<string>,
  { relayer, tokens }: PaymentTerms,
  { associated }: Derivations
): Payment | undefined => {
  const { program } = instruction
  const found = isTokenProgram(program) ? transferOf(instruction) : undefined
  if (found === undefined || found.authority === relayer || !signers.has(found.authority)) return undefined
  const { source, mint, destination, amount } = found
  const token = tokens.find(
    (one) => (mint === undefined || mint === one.mint) && associated(relayer, one.mint, program) === destination
  )
  return token && { token, program, source, destination, amount }
}

const nativePaymentOf = (instruction: Instruction, { relayer, tokens }: PaymentTerms): Payment | undefined => {
  const token = tokens.find(({ mint }) => mint === nativeToken)
  const amount = LittleEndian.u64(instruction.data, 4)
  if (token === undefined || amount === undefined || !isNativePayment(instruction, relayer)) return undefined
  const [source = ""] = instruction.accounts
  return { token, program: systemProgram, source, destination: relayer, amount }
}

/** Payments among the instructions of the message itself: V1, V2, V4, and the address of V3. */
export const paymentsOf = (
  instructions: ReadonlyArray<Instruction>,
  signers: ReadonlySet<string>,
  terms: PaymentTerms,
  derivations: Derivations
): ReadonlyArray<Payment> =>
  instructions.flatMap(
    (instruction) => nativePaymentOf(instruction, terms) ?? tokenPayment(instruction, signers, terms, derivations) ?? []
  )

/** What a message without any payment lacks. */
export const missingPayment = ({ tokens, relayer }: PaymentTerms): string =>
  tokens.length === 0
    ? "the relayer's policy has fee_payment_strategy user and no allowed_tokens, so no payment counts"
    : `expected a transfer of a token of allowed_tokens to the associated account of ${relayer}, signed by another account`

/** The least that a payment is accepted with: prices move between quote and send (V5). */
export const leastOf = (fee: bigint, price: TokenPrice, terms: PaymentTerms): bigint =>
  lessSlippage(chargeOf(fee, price, terms).units, terms.slippage)

/** A mint. `unknown`: an extension that the service does not know. */
export interface MintState {
  readonly program: string
  readonly decimals: number
  readonly extensions: ReadonlyArray<TokenExtension | "unknown">
}

/** What keeps the token from being one that users pay with (V9). Undefined: nothing. */
export const mintProblem = (
  mint: MintState | undefined,
  { mint: address, decimals }: FeeToken,
  { allowedExtensions }: PaymentTerms
): string | undefined => {
  if (mint === undefined) return `${address} is no mint of a token program`
  if (decimals !== undefined && decimals !== mint.decimals) {
    return `${address} has ${mint.decimals} decimals, and allowed_tokens of the policy says ${decimals}`
  }
  const refused = mint.extensions.find((one) => one === "unknown" || !allowedExtensions.includes(one))
  return refused === undefined
    ? undefined
    : `${address} has the extension ${refused}, which is not in allowed_extensions of the policy`
}

/** Accounts as they are before the transaction. */
export interface PaidAccounts {
  readonly source: AccountState
  readonly destination: AccountState
  readonly mint: MintState | undefined
}

/** What keeps a payment from counting, besides its amount: V3, V6 and V9. */
export const paymentProblem = (
  { token, program, source, destination }: Payment,
  accounts: PaidAccounts,
  terms: PaymentTerms
): string | undefined => {
  if (program === systemProgram) return undefined
  const { destination: paid, source: paying } = accounts
  if (paid._tag !== "Token" || paid.mint !== token.mint || paid.owner !== terms.relayer) {
    return `${destination} is not the relayer's account of ${token.mint}`
  }
  if (paid.isFrozen === true) return `the relayer's account ${destination} is frozen`
  if (paying._tag !== "Token" || paying.owner === terms.relayer) {
    return `${source} must be a token account of the user`
  }
  return mintProblem(accounts.mint, token, terms)
}

export const tooLow = ({ token, amount }: Payment, least: bigint): string | undefined =>
  amount >= least
    ? undefined
    : `it pays ${amount} units of ${token.mint}; at least ${least} are needed at the present price`

/** What the simulation leaves of the payment (V7): another instruction may take it back. */
export const isKept = (
  { program, destination }: Payment,
  least: bigint,
  fee: bigint,
  { before, after, tokens }: SimulatedAccounts
): boolean => {
  if (program === systemProgram) return after.lamports - before.lamports >= least - fee
  const account = tokens.get(destination)
  return account?.after !== undefined && account.after.amount - account.before.amount >= least
}
