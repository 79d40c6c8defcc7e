// Whether an envelope is valid, in the order in which stellar-core checks it: `TransactionFrame`, `FeeBumpTransactionFrame`.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { xdr } from "@stellar/stellar-sdk/base"
import { accountIn, availableBalance } from "./Entries.ts"
import type { Account, Reads } from "./Entries.ts"
import { accountOf, fullFeeOf, inclusionFeeOf, innerInclusionFeeOf, operationsOf } from "./Envelope.ts"
import type { Envelope } from "./Envelope.ts"
import { isSuccess } from "./Results.ts"
import type { Outcome, Verdict } from "./Results.ts"
import { Signatures } from "./Signatures.ts"
import type { Level } from "./Signatures.ts"
import { problemOf, untouched } from "./StaticChecks.ts"
import { isBeyond } from "./Voted.ts"

/** The ledger for which an envelope is checked. */
export interface Checked {
  readonly reads: Reads
  readonly ledger: number
  /** Unix seconds. `minTime` is compared with the lower one, `maxTime` with the upper one. */
  readonly closeTime: { readonly lower: number; readonly upper: number }
}

const minimumInclusionFee = (operations: bigint, { voted }: Reads): bigint =>
  voted.baseFee * (operations > 1n ? operations : 1n)

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor

interface Bounds {
  readonly time: Xdr.TimeBounds | null
  readonly ledger: Xdr.LedgerBounds | null
  readonly v2?: Xdr.PreconditionsV2
}

const boundsOf = (conditions: Xdr.Preconditions): Bounds => {
  if (conditions.type === "precondTime") return { time: conditions.timeBounds, ledger: null }
  if (conditions.type === "precondNone") return { time: null, ledger: null }
  return { time: conditions.v2.timeBounds, ledger: conditions.v2.ledgerBounds, v2: conditions.v2 }
}

/** `TransactionFrame::isTooEarly`. */
const isTooEarly = ({ time, ledger }: Bounds, at: Checked): boolean =>
  (time !== null && time.minTime > BigInt(at.closeTime.lower)) || (ledger !== null && ledger.minLedger > at.ledger)

/** `TransactionFrame::isTooLate`. */
const isTooLate = ({ time, ledger }: Bounds, at: Checked): boolean =>
  (time !== null && time.maxTime !== 0n && time.maxTime < BigInt(at.closeTime.upper)) ||
  (ledger !== null && ledger.maxLedger !== 0 && ledger.maxLedger <= at.ledger)

/** `TransactionFrame::isBadSeq`. */
const isBadSequence = (sequence: bigint, { v2 }: Bounds, account: Account, at: Checked): boolean => {
  if (sequence === BigInt(at.ledger) << 32n) return true
  const minimum = v2?.minSeqNum ?? undefined
  if (minimum !== undefined) return account.sequence < minimum || account.sequence >= sequence
  return account.sequence + 1n !== sequence
}

/** `TransactionFrame::validateSorobanOpsConsistency`, and the checks of the Soroban data. */
const sorobanProblem = (
  envelope: Envelope,
  { voted }: Reads
): (Outcome["code"] & ("txMalformed" | "txSorobanInvalid")) | undefined => {
  const { transaction, isSoroban, resourceFee } = envelope
  if (!isSoroban) return transaction.ext.type === "sorobanData" ? "txMalformed" : undefined
  if (transaction.operations.length > 1) return "txMalformed"
  if (transaction.ext.type !== "sorobanData") return "txMalformed"
  if (resourceFee < 0n || resourceFee > fullFeeOf(envelope)) return "txSorobanInvalid"
  const { resources } = transaction.ext.sorobanData
  if (isBeyond(resources, transaction.toXdr().length, voted.calls)) return "txSorobanInvalid"
  // `validateSorobanMemo`. Since protocol 25, it is also checked when the transaction is applied.
  const isMuxed = transaction.sourceAccount.type !== "keyTypeEd25519"
  const isPlain = transaction.memo.type === "memoNone" && !isMuxed
  return isPlain ? undefined : "txSorobanInvalid"
}

const highSettings = ["masterWeight", "lowThreshold", "medThreshold", "highThreshold", "signer"] as const

/** `getThresholdLevel` of each operation. */
const levelOf = (body: Xdr.OperationBody): Level => {
  switch (body.type) {
    case "accountMerge":
      return "high"
    case "setOptions":
      return highSettings.some((setting) => body.setOptionsOp[setting] !== null) ? "high" : "medium"
    case "allowTrust":
    case "setTrustLineFlags":
    case "bumpSequence":
    case "claimClaimableBalance":
    case "inflation":
    case "extendFootprintTtl":
    case "restoreFootprint":
      return "low"
    default:
      return "medium"
  }
}

export const sourceOfOperation = (operation: Xdr.Operation, envelope: Envelope): string =>
  operation.sourceAccount === null ? envelope.source : accountOf(operation.sourceAccount)

/** `OperationFrame::checkSignature`. Undefined: it is signed well enough. */
export const unsignedResult = (
  operation: Xdr.Operation,
  envelope: Envelope,
  reads: Reads,
  signatures: Signatures,
  isApplied: boolean
): Xdr.OperationResult | undefined => {
  const source = sourceOfOperation(operation, envelope)
  const account = accountIn(reads, source)
  if (account !== undefined) {
    return signatures.reaches(account, levelOf(operation.body)) ? undefined : xdr.OperationResult.opBadAuth()
  }
  if (isApplied || operation.sourceAccount === null) return xdr.OperationResult.opNoAccount()
  return signatures.isSignedBy(source) ? undefined : xdr.OperationResult.opBadAuth()
}

/** `TransactionFrame::commonValidPreSeqNum`, without the fee. */
const earlyProblem = (envelope: Envelope, at: Checked): Outcome | undefined => {
  const { transaction } = envelope
  if (transaction.operations.length === 0) return { code: "txMissingOperation" }
  const soroban = sorobanProblem(envelope, at.reads)
  if (soroban !== undefined) return { code: soroban }
  const bounds = boundsOf(transaction.cond)
  if (isTooEarly(bounds, at)) return { code: "txTooEarly" }
  return isTooLate(bounds, at) ? { code: "txTooLate" } : undefined
}

/** `TransactionFrame::commonValid`, after the checks above. `charged`: what the account has to be able to pay. */
const accountProblem = (
  envelope: Envelope,
  at: Checked,
  signatures: Signatures,
  charged: bigint
): Outcome | undefined => {
  const account = accountIn(at.reads, envelope.source)
  if (account === undefined) return { code: "txNoAccount" }
  const bounds = boundsOf(envelope.transaction.cond)
  if (isBadSequence(envelope.sequence, bounds, account, at)) return { code: "txBadSeq" }
  const { minSeqAge = 0n, minSeqLedgerGap = 0 } = bounds.v2 ?? {}
  if (BigInt(at.closeTime.lower) - account.seqTime < minSeqAge || at.ledger - account.seqLedger < minSeqLedgerGap) {
    return { code: "txBadMinSeqAgeOrGap" }
  }
  if (!signatures.reaches(account, "low")) return { code: "txBadAuth" }
  return availableBalance(account, at.reads) < charged ? { code: "txInsufficientBalance" } : undefined
}

/** Accounts that a transaction names, as far as the stand-in knows the operations. */
const namedIn = (envelope: Envelope): ReadonlyArray<string> => [
  envelope.source,
  ...envelope.transaction.operations.flatMap((operation) => {
    const { body } = operation
    const to = body.type === "payment" ? [accountOf(body.paymentOp.destination)] : []
    return [sourceOfOperation(operation, envelope), ...to]
  })
]

/** `TransactionFrame::accessesFrozenKey` (CAP-77). */
const isFrozen = (envelope: Envelope, { voted }: Reads): boolean =>
  namedIn(envelope).some((address) => voted.frozen.includes(address))

const operationProblems = (envelope: Envelope, at: Checked, signatures: Signatures): Outcome | undefined => {
  const problems = envelope.transaction.operations.map(
    (operation) => unsignedResult(operation, envelope, at.reads, signatures, false) ?? problemOf(operation.body)
  )
  const first = problems.findIndex((problem) => problem !== undefined)
  if (first === -1) return undefined
  // stellar-core stops at the first operation that is wrong. The others keep the result that they have before they are applied.
  const resultOf = (body: Xdr.OperationBody, index: number) =>
    (index === first ? problems[first] : undefined) ?? untouched(body)
  return {
    code: "txFailed",
    operations: envelope.transaction.operations.map(({ body }, index) => resultOf(body, index))
  }
}

const success: Outcome = { code: "txSuccess", operations: [] }

/** The transaction without its fee bump. `isCharged`: it pays its fee itself. */
const innerOutcome = (envelope: Envelope, at: Checked, isCharged: boolean): Outcome => {
  if (isFrozen(envelope, at.reads)) return { code: "txFrozenKeyAccessed" }
  const early = earlyProblem(envelope, at)
  if (early !== undefined) return early
  const operations = BigInt(envelope.transaction.operations.length)
  // Since protocol 23, the envelope in a fee bump may even pay less than its resources.
  if (isCharged && innerInclusionFeeOf(envelope) < minimumInclusionFee(operations, at.reads))
    return { code: "txInsufficientFee" }
  const signatures = new Signatures(envelope.inner)
  const problem =
    accountProblem(envelope, at, signatures, isCharged ? fullFeeOf(envelope) : 0n) ??
    operationProblems(envelope, at, signatures)
  if (problem !== undefined) return problem
  return signatures.areAllUsed ? success : { code: "txBadAuthExtra" }
}

/** The checks that are repeated when the transaction is applied. Its fee is paid by then. */
export const checkApplied = (envelope: Envelope, at: Checked): Outcome => innerOutcome(envelope, at, false)

/** The fee that a bump needs at least, for `feeCharged`. Undefined: it pays enough. */
const missingBumpFee = (envelope: Envelope, reads: Reads): bigint | undefined => {
  const lowest = minimumInclusionFee(operationsOf(envelope), reads)
  const resource = envelope.resourceFee
  if (inclusionFeeOf(envelope) < lowest) return lowest + resource
  const innerLowest = minimumInclusionFee(BigInt(envelope.transaction.operations.length), reads)
  const needed = innerInclusionFeeOf(envelope) * lowest
  return inclusionFeeOf(envelope) * innerLowest < needed ? divideUp(needed, innerLowest) + resource : undefined
}

/** `FeeBumpTransactionFrame::checkValid`, without the inner transaction. */
const bumpOutcome = (envelope: Envelope, at: Checked): Verdict | undefined => {
  const { bump } = envelope
  if (bump === undefined) return undefined
  const missing = missingBumpFee(envelope, at.reads)
  if (missing !== undefined) return { outcome: { code: "txInsufficientFee" }, feeCharged: missing }
  const feeCharged = bump.fee
  const payer = accountIn(at.reads, bump.source)
  if (payer === undefined) return { outcome: { code: "txNoAccount" }, feeCharged }
  const signatures = new Signatures(bump)
  if (!signatures.reaches(payer, "low")) return { outcome: { code: "txBadAuth" }, feeCharged }
  if (availableBalance(payer, at.reads) < bump.fee) return { outcome: { code: "txInsufficientBalance" }, feeCharged }
  return signatures.areAllUsed ? undefined : { outcome: { code: "txBadAuthExtra" }, feeCharged }
}

/** `checkValid` of both kinds of envelopes. */
export const check = (envelope: Envelope, at: Checked): Verdict => {
  const { bump, inner } = envelope
  const feeCharged = fullFeeOf(envelope)
  if (bump === undefined) {
    const outcome = innerOutcome(envelope, at, true)
    const lowest = minimumInclusionFee(operationsOf(envelope), at.reads) + envelope.resourceFee
    return { outcome, feeCharged: outcome.code === "txInsufficientFee" ? lowest : feeCharged }
  }
  const problem = bumpOutcome(envelope, at)
  if (problem !== undefined) return problem
  return { outcome: success, inner: { hash: inner.bytes, outcome: innerOutcome(envelope, at, false) }, feeCharged }
}

export const isValid = (envelope: Envelope, at: Checked): boolean => isSuccess(check(envelope, at))
