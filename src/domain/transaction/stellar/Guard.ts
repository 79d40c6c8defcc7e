// Decides whether the service signs an envelope. It runs at admission, and again on the final bytes before each signature.
import { Result } from "effect"
import { entriesAddedBy } from "./Envelope.ts"
import { outerFee } from "./Fees.ts"
import { forwards } from "./Forwarding.ts"
import type { Envelope, Operation, TransactionEnvelope } from "./Envelope.ts"
import { common, eachOperation, firstBroken, paidResources, timeBounds } from "./GuardRules.ts"
import type { Rule, Terms } from "./GuardRules.ts"
import { refusal, refuse } from "./Refusal.ts"
import type { Refusal } from "./Refusal.ts"

/** Operations of the relayer's own account that need no permission of its policy. */
const defaultOperations: ReadonlySet<string> = new Set([
  "payment",
  "pathPaymentStrictReceive",
  "pathPaymentStrictSend",
  "changeTrust",
  "invokeHostFunction",
  "extendFootprintTtl",
  "restoreFootprint"
])

/** Operations that give the account away or end it. No policy allows them. */
const neverAllowed: ReadonlySet<string> = new Set(["accountMerge", "setOptions", "bumpSequence"])

const strategy: Rule = (_, { strategy }) =>
  strategy === "user"
    ? refusal(
        "sponsoring_only",
        "the relayer's policy lets it pay only for envelopes of users: fee_payment_strategy is user"
      )
    : undefined

const unsigned: Rule = ({ signatureCount }) =>
  signatureCount === 0 ? undefined : refusal("xdr_signed", "Expected unsigned XDR but received signed XDR")

const ownSource: Rule = ({ source }, { channel, relayer }) =>
  source.address === (channel ?? relayer)
    ? undefined
    : refusal(
        "source_account_mismatch",
        `XDR source account ${source.address} does not match relayer account ${relayer}`
      )

const ownOperationSource = eachOperation(({ source }, number, { relayer }) =>
  source === undefined || (source.address === relayer && !source.isMuxed)
    ? undefined
    : refusal("operation_source", `operation ${number} has another source than the relayer`)
)

const isAllowed = ({ type }: Operation, { allowedOperations }: Terms): boolean =>
  !neverAllowed.has(type) && (defaultOperations.has(type) || allowedOperations.includes(type))

const allowed = eachOperation((operation, number, terms) =>
  isAllowed(operation, terms) ? undefined : refusal("operation_not_allowed", `operation ${number} is ${operation.type}`)
)

/** A trust line of a token that users pay with must stay. */
const removedToken = eachOperation((operation, number, { allowedTokens }) =>
  operation.type === "changeTrust" && operation.limit === 0n && allowedTokens.includes(operation.asset)
    ? refusal("operation_not_allowed", `operation ${number} removes the trust line of an allowed token`)
    : undefined
)

/** Entries for trust lines that the envelope adds to the account at most. */
export const addedSubentries = (
  { operations }: TransactionEnvelope,
  { assetContracts }: Pick<Terms, "assetContracts">
): number => operations.reduce((total, operation) => total + entriesAddedBy(operation, assetContracts), 0)

const subentries: Rule = (envelope, terms) =>
  addedSubentries(envelope, terms) > terms.maxSubentries
    ? refusal(
        "too_many_subentries",
        `the envelope adds ${addedSubentries(envelope, terms)} entries, at most ${terms.maxSubentries} are allowed`
      )
    : undefined

const ownRules: ReadonlyArray<Rule> = [
  strategy,
  unsigned,
  ...common,
  paidResources,
  ownSource,
  ownOperationSource,
  allowed,
  removedToken,
  subentries
]

const signed: Rule = ({ signatureCount }) =>
  signatureCount > 0 ? undefined : refusal("xdr_unsigned", "Cannot request fee_bump with unsigned XDR")

const foreignSource: Rule = ({ source }, { own }) =>
  own.has(source.address)
    ? refusal("source_is_own", `${source.address} is an account of this service: send without fee_bump`)
    : undefined

const foreignOperationSource = eachOperation(({ source }, number, { own }) =>
  source !== undefined && own.has(source.address)
    ? refusal("operation_source", `operation ${number} acts for an account of this service`)
    : undefined
)

const foreignSignatures: Rule = ({ signatures, source }, { own }) => {
  if (signatures.some(({ address, isValid }) => isValid && own.has(address))) {
    return refusal("signed_by_own", "the envelope has a signature of an account of this service")
  }
  const ofSource = signatures.filter(({ address }) => address === source.address)
  return ofSource.some(({ isValid }) => !isValid)
    ? refusal("signature_invalid", "the signature of the source does not fit: it may be for another network")
    : undefined
}

/** The fee of the fee bump that the service would sign. */
export const outerFeeOf = (
  { fee, operations: { length: operations }, resourceFee = 0n }: TransactionEnvelope,
  { rate }: Terms
): bigint => outerFee({ fee, operations, resourceFee }, rate)

const cap: Rule = (envelope, terms) => {
  const needed = outerFeeOf(envelope, terms)
  return needed > terms.cap
    ? refusal("fee_above_cap", `max_fee (${terms.cap}) is insufficient. Required fee-bump fee: ${needed}`)
    : undefined
}

/** The rules of a user's envelope before the user has signed it. */
const builtRules: ReadonlyArray<Rule> = [...common, timeBounds, foreignSource, foreignOperationSource, cap]

const foreignRules: ReadonlyArray<Rule> = [
  ...common,
  timeBounds,
  signed,
  foreignSource,
  foreignOperationSource,
  foreignSignatures,
  cap
]

/**
 * `operations` and `unsigned`: the relayer's account acts, and the service sets sequence, fee and time bounds. `sign`: the
 * same, but the caller sends the envelope as it is. `bump`: the account of a user acts, and the relayer pays. `built`: the same,
 * before the user has signed the envelope. `forward`: the relayer's account only calls the forwarder, for a user who pays it.
 */
export type Mode = "operations" | "unsigned" | "sign" | "bump" | "built" | "forward"

/** The fee is the caller's: nothing is left to bid. */
const ownFee: Rule = ({ fee }, { cap }) =>
  fee > cap
    ? refusal("fee_above_cap", `the fee must be at most ${cap}, the max_fee of the relayer's policy`)
    : undefined

const rulesOf: Readonly<Record<Mode, ReadonlyArray<Rule>>> = {
  operations: ownRules,
  unsigned: ownRules,
  sign: [...ownRules, timeBounds, ownFee],
  bump: foreignRules,
  built: builtRules,
  forward: [unsigned, ...common, paidResources, ownSource, ownOperationSource, forwards]
}

export const guard = (mode: Mode, envelope: Envelope, terms: Terms): Result.Result<TransactionEnvelope, Refusal> => {
  if (envelope.kind === "feeBump") {
    return mode === "bump" || mode === "built"
      ? refuse("xdr_kind", "the envelope is a fee bump itself")
      : refuse("xdr_signed", "the envelope is a fee bump: send its inner transaction with fee_bump")
  }
  if (envelope.kind === "v0") return refuse("xdr_kind", "the envelope has the format V0, which has no use any more")
  const broken = firstBroken(rulesOf[mode], envelope, terms)
  return broken === undefined ? Result.succeed(envelope) : Result.fail(broken)
}
