// The rules S1 to S12: what keeps a transaction from costing the relayer more than its fee and what it declares to spend.
import { budgetProblem, feeOf } from "./Fee.ts"
import { instructionsOf, loadedBy, refusal } from "./Instruction.ts"
import type { AccountState, Derivations, Instruction, Refusal, TableState } from "./Instruction.ts"
import * as LittleEndian from "./LittleEndian.ts"
import { isListingFeePayer, limitProblem, maxBytesOf, sizeWithSignatures, version1Problem } from "./Message.ts"
import type { WireTransaction } from "./Message.ts"
import { ownSpending } from "./OwnInstructions.ts"
import { isNativePayment } from "./Payment.ts"
import { computeBudgetProgram, systemProgram } from "./Programs.ts"
import { defaultMaxSignatures, maxPrecompileSignatures } from "./SolanaNumbers.ts"
import { isRefusal } from "./Spending.ts"
import type { Receiver, Spending } from "./Spending.ts"

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
  return first !== undefined &&
    message.keys[first.program] === systemProgram &&
    LittleEndian.u32(first.data, 0) === advanceNonce
    ? refusal("durable_nonce", "bytes with a durable nonce never die by themselves; use a recent blockhash")
    : undefined
}

/** What a message costs: as a node has named it for these bytes, else as computed. */
const chargeOf = ({ transaction, fee }: Pick<Guarded, "transaction" | "fee">): bigint =>
  fee ?? feeOf(transaction.message).total

const fee: Rule = (guarded) => {
  const { transaction, terms } = guarded
  const { claimed } = feeOf(transaction.message)
  const total = chargeOf(guarded)
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
