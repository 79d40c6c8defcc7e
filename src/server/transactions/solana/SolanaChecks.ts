// Checks of bytes without the chain, for sends, replacements and signatures that callers get: the rules of the fee payer, the
// signatures of others, and the limits of the API key.
import { Effect, Result } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { feeOf, totalFee } from "../../../domain/transaction/solana/Fee.ts"
import { brokenRule, brokenSignature, spendingOf } from "../../../domain/transaction/solana/Guard.ts"
import type { Form, Guarded } from "../../../domain/transaction/solana/Guard.ts"
import { instructionsOf, refusal } from "../../../domain/transaction/solana/Instruction.ts"
import type { Refusal } from "../../../domain/transaction/solana/Instruction.ts"
import { missingPayment, paymentsOf } from "../../../domain/transaction/solana/Payment.ts"
import { isTokenProgram } from "../../../domain/transaction/solana/Programs.ts"
import type { SolanaRequest, SolanaTarget } from "../../../domain/transaction/solana/Solana.ts"
import { computeMargin } from "../../../domain/transaction/solana/SolanaNumbers.ts"
import { guardTermsOf, paymentTermsOf, paysFees } from "../../../domain/transaction/solana/SolanaTerms.ts"
import { isRefusal } from "../../../domain/transaction/solana/Spending.ts"
import { addedTo, draftOf } from "../../../domain/transaction/solana/Unsigned.ts"
import { exceeded, TransactionLimitExceeded } from "../../../domain/transaction/TransactionLimits.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import { derivations, isSignedBy } from "../../chains/solana/SolanaKeys.ts"

export interface Allowance {
  readonly limits: NetworkLimits | undefined
  readonly prefix: string
}

const fieldOf = ({ transaction }: SolanaRequest): string => (transaction === undefined ? "instructions" : "transaction")

const refused = (request: SolanaRequest, prefix: string, { code, message }: { code: string; message: string }) =>
  BadRequest.of([{ field: `${prefix}${fieldOf(request)}`, message: `${code}: ${message}` }])

/** A price without a limit costs what the simulated limit makes of it, which is above the margin for instructions of the compute budget. */
const brokenPrice = (
  { compute_unit_limit, compute_unit_price = 0n }: SolanaRequest,
  { transaction: { message }, terms }: Guarded
): Refusal | undefined => {
  const least = totalFee(feeOf(message).signatures, compute_unit_price, computeMargin.units)
  return compute_unit_limit === undefined && least > terms.maxFee
    ? refusal("fee_above_cap", `costs at least ${least} lamports; at most ${terms.maxFee} are allowed`)
    : undefined
}

/** Tables are resolved before the signature: until then, a transfer of tokens whose accounts they load may be a payment. */
const brokenPayment = ({ transaction: { message } }: Guarded, target: SolanaTarget): Refusal | undefined => {
  const terms = paymentTermsOf(target)
  const instructions = instructionsOf(message)
  const isOpen = instructions.some(({ program, accounts }) => isTokenProgram(program) && accounts.includes(""))
  if (isOpen && terms.tokens.length > 0) return undefined
  const signers = new Set(message.keys.slice(0, message.signers))
  return paymentsOf(instructions, signers, terms, derivations).length > 0
    ? undefined
    : refusal("payment_missing", missingPayment(terms))
}

/**
 * What the message spends from the relayer, against the limits of the API key. `spending`: with the accounts that were read. Absent:
 * what the message itself says.
 */
export const limitViolation = (
  guarded: Guarded,
  field: string,
  limits: NetworkLimits | undefined,
  spending = spendingOf(guarded)
): Violation | undefined => {
  if (limits === undefined) return undefined
  const { max_value, receivers } = limits
  if (isRefusal(spending)) return undefined
  const value = max_value === undefined ? {} : { max_value }
  const found = exceeded("solana", { value: spending.spent, receivers: [] }, value)
  if (found !== undefined) return { ...found, field }
  const terms = { ...guarded.terms, ...(receivers === undefined ? {} : { receivers }) }
  const broken = brokenRule({ ...guarded, terms })
  return broken === undefined ? undefined : { field, message: `${broken.code}: ${broken.message}` }
}

/** The bytes of a request, or a draft of them, that break no rule which needs no chain. */
export const check = Effect.fnUntraced(function* (
  request: SolanaRequest,
  target: SolanaTarget,
  { form, limits, prefix }: Allowance & { readonly form: Form }
) {
  const drafted = draftOf(request, { payer: target.relayer.address, tables: new Map() })
  if (Result.isFailure(drafted)) return yield* refused(request, prefix, drafted.failure)
  const transaction = drafted.success
  const added = addedTo(request, transaction.message)
  const guarded: Guarded = { transaction, form, added, terms: guardTermsOf(target, request), derivations }
  const broken =
    brokenRule(guarded) ??
    brokenPrice(request, guarded) ??
    (paysFees(target) || request.transaction === undefined ? undefined : brokenPayment(guarded, target)) ??
    (request.transaction === undefined ? undefined : brokenSignature(drafted.success, isSignedBy))
  if (broken !== undefined) return yield* refused(request, prefix, broken)
  const limit = limitViolation(guarded, fieldOf(request), limits)
  if (limit !== undefined) return yield* TransactionLimitExceeded.of(limit, prefix)
  return guarded
})
