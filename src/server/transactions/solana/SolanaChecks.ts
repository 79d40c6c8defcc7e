// Checks of bytes without the chain, for sends, replacements and signatures that callers get: the rules of the fee payer, the
// signatures of others, and the limits of the API key.
import { Effect, Result } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { brokenRule, brokenSignature, spendingOf } from "../../../domain/transaction/solana/Guard.ts"
import type { Form, Guarded } from "../../../domain/transaction/solana/Guard.ts"
import type { SolanaRequest, SolanaTarget } from "../../../domain/transaction/solana/Solana.ts"
import { guardTermsOf, paysFees } from "../../../domain/transaction/solana/SolanaTerms.ts"
import { isRefusal } from "../../../domain/transaction/solana/Spending.ts"
import { draftOf } from "../../../domain/transaction/solana/Unsigned.ts"
import type { NetworkLimits } from "../../../domain/transaction/TransactionLimits.ts"
import { exceeded, TransactionLimitExceeded } from "../../../domain/transaction/TransactionLimits.ts"
import { derivations, isSignedBy } from "../../chains/solana/SolanaKeys.ts"

export interface Allowance {
  readonly limits: NetworkLimits | undefined
  readonly prefix: string
}

const fieldOf = ({ transaction }: SolanaRequest): string => (transaction === undefined ? "instructions" : "transaction")

const refused = (request: SolanaRequest, prefix: string, { code, message }: { code: string; message: string }) =>
  BadRequest.of([{ field: `${prefix}${fieldOf(request)}`, message: `${code}: ${message}` }])

/** Why the relayer signs nothing: users pay it, and the service does not verify payments. */
export const unpaid = (target: SolanaTarget): ReadonlyArray<Violation> =>
  paysFees(target)
    ? []
    : [
        {
          field: "transaction",
          message:
            "cannot be signed while the relayer's policy has fee_payment_strategy user, because the service does not verify payments yet; set fee_payment_strategy to relayer"
        }
      ]

/** What the message spends from the relayer, against the limits of the API key. */
export const limitViolation = (
  guarded: Guarded,
  field: string,
  limits: NetworkLimits | undefined
): Violation | undefined => {
  if (limits === undefined) return undefined
  const { max_value, receivers } = limits
  const spending = spendingOf(guarded)
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
  const guarded: Guarded = { transaction: drafted.success, form, terms: guardTermsOf(target, request), derivations }
  const broken =
    brokenRule(guarded) ??
    (request.transaction === undefined ? undefined : brokenSignature(drafted.success, isSignedBy))
  if (broken !== undefined) return yield* refused(request, prefix, broken)
  const limit = limitViolation(guarded, fieldOf(request), limits)
  if (limit !== undefined) return yield* TransactionLimitExceeded.of(limit, prefix)
  return guarded
})
