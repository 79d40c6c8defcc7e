// The rules S1 to S12 and V1 to V9: what a transaction may cost the relayer, what a simulation must leave, which payments count.
import { chargeOf, lessSlippage } from "../../../domain/price/Price.ts"
import type { PriceSource, TokenPrice } from "../../../domain/price/Price.ts"
import type { SolanaPolicy, TokenExtension } from "../../../domain/relayer/Policy.ts"
import { isListingFeePayer, limitProblem, maxBytesOf, sizeWithSignatures, version1Problem } from "./Message.ts"
import type { WireTransaction } from "./Message.ts"
import {
  budgetProblem,
  computeBudgetProgram,
  feeOf,
  instructionsOf,
  isTokenProgram,
  loadedBy,
  refusal,
  systemProgram,
  u32At,
  u64At
} from "./Programs.ts"
import type { AccountState, Derivations, Instruction, Refusal, TableState } from "./Programs.ts"
import { defaultMaxSignatures, maxPrecompileSignatures } from "./SolanaNumbers.ts"
import { isRefusal, ownSpending } from "./Spending.ts"
import type { Receiver, Spending } from "./Spending.ts"

// What a simulation must leave of the relayer's accounts (rules S11 and S12). It is a second line: the state of the chain can
// change between simulation and execution.

interface FeePayerState {
  readonly lamports: bigint
  readonly owner: string
  readonly dataBytes: number
}

/** The addresses that can move the tokens of a token account of the relayer, or close it. */
export interface TokenAuthorities {
  readonly owner: string
  readonly delegate?: string
  readonly closeAuthority?: string
}

/** A token account of the relayer. */
interface TokenState extends TokenAuthorities {
  /** Units of the token. */
  readonly amount: bigint
}

export interface SimulatedAccounts {
  readonly before: FeePayerState
  readonly after: FeePayerState
  /** Token accounts of the relayer that the message writes, by address. An absent `after` was closed. */
  readonly tokens: ReadonlyMap<string, { readonly before: TokenState; readonly after?: TokenState }>
  /** Accounts that an instruction of the message closes. */
  readonly closed: ReadonlyArray<string>
}

const hasSameAuthorities = (one: TokenAuthorities, other: TokenAuthorities): boolean =>
  one.owner === other.owner && one.delegate === other.delegate && one.closeAuthority === other.closeAuthority

/** `allowed`: the fee, and the lamports that the message declares to take. */
export const brokenSimulation = (
  { before, after, tokens, closed }: SimulatedAccounts,
  allowed: bigint
): Refusal | undefined => {
  if (after.owner !== systemProgram || after.dataBytes > 0) {
    return refusal("fee_payer_changed", "the simulation changes the owner or the data of the relayer's account")
  }
  if (before.lamports - after.lamports > allowed) {
    const lost = before.lamports - after.lamports
    return refusal(
      "lamports_out",
      `the simulation takes ${lost} lamports from the relayer; at most ${allowed} are declared`
    )
  }
  for (const [address, { before, after }] of tokens) {
    const isKept = after === undefined ? closed.includes(address) : hasSameAuthorities(before, after)
    if (!isKept) {
      return refusal(
        "authority_changed",
        `the simulation changes the owner, the delegate or the close authority of token account ${address}`
      )
    }
  }
  return undefined
}

// Payments of users to the relayer (rules V1 to V9): which instructions can be one, what it has to be worth, and what makes it count.

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
const isNativePayment = ({ program, accounts, data }: Instruction, relayer: string): boolean =>
  program === systemProgram &&
  data.length === systemTransfer.bytes &&
  u32At(data, 0) === systemTransfer.kind &&
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
  const amount = u64At(data, 1)
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
  const amount = u64At(instruction.data, 4)
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
export const leastPayment = (fee: bigint, price: TokenPrice, terms: PaymentTerms): bigint =>
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

export const paymentTooLow = ({ token, amount }: Payment, least: bigint): string | undefined =>
  amount >= least
    ? undefined
    : `it pays ${amount} units of ${token.mint}; at least ${least} are needed at the present price`

/** What the simulation leaves of the payment (V7): another instruction may take it back. */
export const isPaymentKept = (
  { program, destination }: Payment,
  least: bigint,
  fee: bigint,
  { before, after, tokens }: SimulatedAccounts
): boolean => {
  if (program === systemProgram) return after.lamports - before.lamports >= least - fee
  const account = tokens.get(destination)
  return account?.after !== undefined && account.after.amount - account.before.amount >= least
}

/** How the message came. Only in the first form, the relayer is the only signer of what the service itself has composed. */
export type Form = "instructions" | "prebuilt" | "sponsored" | "sign_transaction"

/** What policy and request allow. Absent lists allow everything. */
export interface GuardTerms {
  readonly relayer: string
  readonly maxBytes?: number
  readonly maxSignatures?: number
  /** Lamports. */
  readonly maxFee: bigint
  readonly allowedPrograms?: ReadonlyArray<string>
  readonly allowedAccounts?: ReadonlyArray<string>
  readonly disallowedAccounts?: ReadonlyArray<string>
  readonly authority: "own_instructions" | "never" | "always"
  readonly authorityPrograms: ReadonlyArray<string>
  /** Mints of tokens that users pay with. */
  readonly feeMints: ReadonlyArray<string>
  /** Lamports that one transaction may spend: the lowest limit of policy and API key. Absent: no limit. */
  readonly maxSpent?: bigint
  /** Receivers that the API key may send to. Absent: all. */
  readonly receivers?: ReadonlyArray<string>
}

/** What was read of the chain. At admission, nothing. */
export interface ReadAccounts {
  readonly tables: ReadonlyMap<string, TableState>
  readonly accounts: ReadonlyMap<string, AccountState>
  /** Lamports that an account without data needs on the cluster. Absent: no provider says it. */
  readonly rent?: bigint
}

export interface Guarded {
  readonly transaction: WireTransaction
  /** Lamports that it costs, if a node has named them. Absent: as computed. */
  readonly fee?: bigint
  readonly form: Form
  /** Instructions that the service has put before those of the request. Absent: none. Refusals count those of the request, from 0. */
  readonly added?: number
  readonly terms: GuardTerms
  readonly derivations: Derivations
  /** Absent: at admission, where only what the message itself says is checked. */
  readonly read?: ReadAccounts
}

type Rule = (guarded: Guarded) => Refusal | undefined

const size: Rule = ({ transaction, terms }) => {
  const { messageBytes, message } = transaction
  const bytes = sizeWithSignatures(message, messageBytes.length)
  const limit = Math.min(terms.maxBytes ?? Infinity, maxBytesOf(message))
  return bytes > limit
    ? refusal("too_large", `has ${bytes} bytes with all signatures; at most ${limit} are allowed`)
    : undefined
}

/** Checks a message that the service builds: decodes what the request gives, and applies the rules of given messages to it. */
const version1Limits: Rule = ({ transaction }) => {
  const problem = version1Problem(transaction.message)
  return problem === undefined ? undefined : refusal("malformed", problem.message)
}

/** What nodes refuse before they look at the chain, in words that only a person understands. */
const wellFormed: Rule = ({ transaction: { message } }) => {
  const problem = limitProblem(message) ?? budgetProblem(message)
  return problem === undefined ? undefined : refusal("malformed", problem)
}

const feePayer: Rule = ({ transaction, terms }) =>
  transaction.message.keys[0] === terms.relayer
    ? undefined
    : refusal("fee_payer_mismatch", `the fee payer must be the relayer, ${terms.relayer}`)

const signers: Rule = ({ transaction, terms, form }) => {
  const { signers } = transaction.message
  const limit = terms.maxSignatures ?? defaultMaxSignatures
  if (form === "instructions" && signers > 1) {
    return refusal("foreign_signer", "only the relayer may sign instructions; send a prebuilt transaction instead")
  }
  return signers > limit
    ? refusal("too_many_signatures", `needs ${signers} signatures; at most ${limit} are allowed`)
    : undefined
}

/** The instruction AdvanceNonceAccount of the System program. */
const advanceNonce = 4

const durableNonce: Rule = ({ transaction: { message } }) => {
  const [first] = message.instructions
  return first !== undefined && message.keys[first.program] === systemProgram && u32At(first.data, 0) === advanceNonce
    ? refusal("durable_nonce", "bytes with a durable nonce never die by themselves; use a recent blockhash")
    : undefined
}

/** What a message costs: as a node has named it for these bytes, else as computed. */
const guardedFee = ({ transaction, fee }: Pick<Guarded, "transaction" | "fee">): bigint =>
  fee ?? feeOf(transaction.message).total

const fee: Rule = (guarded) => {
  const { transaction, terms } = guarded
  const { claimed } = feeOf(transaction.message)
  const total = guardedFee(guarded)
  if (claimed > maxPrecompileSignatures) {
    return refusal(
      "fee_above_cap",
      `precompiles claim ${claimed} signatures; at most ${maxPrecompileSignatures} are allowed`
    )
  }
  return total > terms.maxFee
    ? refusal("fee_above_cap", `costs up to ${total} lamports; at most ${terms.maxFee} are allowed`)
    : undefined
}

/** Undefined: tables are not resolved, as at admission. */
const loadedOf = ({ transaction, read }: Guarded): ReadonlyArray<string> | Refusal | undefined =>
  read === undefined ? undefined : loadedBy(transaction.message, read.tables)

const tables: Rule = (guarded) => {
  const loaded = loadedOf(guarded)
  if (loaded === undefined) return undefined
  if (isRefusal(loaded)) return loaded
  return loaded.includes(guarded.terms.relayer)
    ? refusal("fee_payer_in_lookup_table", `a lookup table must not load the relayer, ${guarded.terms.relayer}`)
    : undefined
}

/** All accounts of the message that are known: at admission its keys, before a signature the loaded ones as well. */
const knownAccounts = (guarded: Guarded): ReadonlyArray<string> => {
  const loaded = loadedOf(guarded)
  return [...guarded.transaction.message.keys, ...(loaded === undefined || isRefusal(loaded) ? [] : loaded)]
}

const programs: Rule = ({ transaction: { message }, terms: { allowedPrograms } }) => {
  if (allowedPrograms === undefined) return undefined
  const called = message.instructions.map(({ program }) => message.keys[program] ?? "")
  const foreign = called.find((program) => program !== computeBudgetProgram && !allowedPrograms.includes(program))
  return foreign === undefined
    ? undefined
    : refusal("program_not_allowed", `program ${foreign} is not in allowed_programs of the relayer`)
}

const accounts: Rule = (guarded) => {
  const { allowedAccounts, disallowedAccounts = [] } = guarded.terms
  const known = knownAccounts(guarded)
  const disallowed = known.find((account) => disallowedAccounts.includes(account))
  if (disallowed !== undefined) {
    return refusal("account_disallowed", `account ${disallowed} is in disallowed_accounts of the relayer`)
  }
  const foreign = allowedAccounts && known.find((account) => !allowedAccounts.includes(account))
  return foreign === undefined
    ? undefined
    : refusal("account_not_allowed", `account ${foreign} is not in allowed_accounts of the relayer`)
}

/** Whether the form and the policy let instructions list the relayer at all. */
const maySpend = ({ form, terms }: Guarded): boolean =>
  form === "instructions" ? terms.authority !== "never" : form === "prebuilt" && terms.authority === "always"

/** The first key is a writable signer for the whole message, whatever the request says about it. */
export const spendingOf = (guarded: Guarded): Spending | Refusal => {
  const { transaction, terms, form, derivations, read, added = 0 } = guarded
  const { message } = transaction
  const loaded = loadedOf(guarded)
  const resolved = loaded === undefined || isRefusal(loaded) ? [] : loaded
  const instructions = instructionsOf(message, resolved)
  const isPayment = (instruction: Instruction): boolean =>
    form === "sponsored" && isNativePayment(instruction, terms.relayer)
  const listing = message.instructions.map(isListingFeePayer)
  const index = instructions.findIndex((instruction, at) => listing[at] === true && !isPayment(instruction))
  if (index >= 0 && !maySpend(guarded)) {
    return refusal(
      "fee_payer_in_instruction",
      `instruction ${index - added} lists the relayer, ${terms.relayer}, which gives it full authority over that account; to spend from the relayer, use the field instructions, with the policy fee_payer_as_authority own_instructions`
    )
  }
  // A payment gives lamports to the relayer, and takes none.
  const spending = instructions
    .map((instruction, index) => [index - added, instruction] as const)
    .filter(([, instruction]) => !isPayment(instruction))
  return ownSpending(spending, {
    relayer: terms.relayer,
    programs: terms.authorityPrograms,
    feeMints: terms.feeMints,
    derivations,
    ...(read === undefined ? {} : { accounts: read.accounts }),
    ...(read?.rent === undefined ? {} : { rent: read.rent })
  })
}

/** A destination of tokens counts as listed if it is the associated account of a listed wallet. */
const isListed = (
  { address, token }: Receiver,
  listed: ReadonlyArray<string>,
  { associated }: Derivations
): boolean => {
  if (token === "unnamed") return false
  if (listed.includes(address)) return true
  return token !== undefined && listed.some((wallet) => associated(wallet, token.mint, token.program) === address)
}

const spending: Rule = (guarded) => {
  const { maxSpent, receivers } = guarded.terms
  const spending = spendingOf(guarded)
  if (isRefusal(spending)) return spending
  if (maxSpent !== undefined && spending.spent > maxSpent) {
    return refusal("value_above_cap", `spends ${spending.spent} lamports; at most ${maxSpent} are allowed`)
  }
  const foreign =
    receivers && spending.receivers.find((receiver) => !isListed(receiver, receivers, guarded.derivations))
  if (foreign === undefined) return undefined
  return refusal(
    "receiver_not_allowed",
    foreign.token === "unnamed"
      ? `a transfer to ${foreign.address} does not name its mint; use TransferChecked with an API key that has receivers`
      : `receiver ${foreign.address} is not in receivers of the API key`
  )
}

const rules: ReadonlyArray<Rule> = [
  size,
  version1Limits,
  wellFormed,
  feePayer,
  signers,
  durableNonce,
  tables,
  spending,
  fee,
  programs,
  accounts
]

/** The first rule that the message breaks. At admission, and before every signature with the accounts that were read. */
export const brokenRule = (guarded: Guarded): Refusal | undefined => {
  for (const rule of rules) {
    const broken = rule(guarded)
    if (broken !== undefined) return broken
  }
  return undefined
}

/** Whether the signatures of the others are there and valid (rule S10). `verify` checks an ed25519 signature. */
export const brokenSignature = (
  { message, messageBytes, signatures }: WireTransaction,
  verify: (signature: Uint8Array, messageBytes: Uint8Array, key: string) => boolean
): Refusal | undefined => {
  for (const [index, signature] of signatures.entries()) {
    const key = message.keys[index] ?? ""
    if (signature === undefined) {
      if (index > 0) return refusal("signature_missing", `the signature of ${key} is missing`)
      continue
    }
    if (!verify(signature, messageBytes, key)) {
      return refusal("signature_invalid", `the signature of ${key} is not valid for these bytes`)
    }
  }
  return undefined
}
