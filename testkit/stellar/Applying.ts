// Applies a transaction to the ledger: `TransactionFrame::apply` of stellar-core.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { xdr } from "@stellar/stellar-sdk/base"
import { run } from "./Calls.ts"
import { callCost, callInstructions, callOf, needsCounter, restoreCost, takeGrant } from "./Contracts.ts"
import { accountChanges, accountIn, Changes, keyOf } from "./Entries.ts"
import type { Reads } from "./Entries.ts"
import { feeSourceOf, sha256 } from "./Envelope.ts"
import type { Envelope } from "./Envelope.ts"
import { apply as applyClassic } from "./Operations.ts"
import type { Applied, Context } from "./Payments.ts"
import type { Outcome, Verdict } from "./Results.ts"
import { Signatures } from "./Signatures.ts"
import { checkApplied, sourceOfOperation, unsignedResult } from "./Validity.ts"

export interface Closing {
  readonly ledger: number
  /** Unix seconds. */
  readonly closeTime: number
  readonly passphrase: string
}

/** What a call leaves behind besides its effect. */
interface Trace {
  value?: Xdr.ScVal
  error?: string
  /** Of each operation of a transaction that succeeded. */
  operations?: ReadonlyArray<Array<Xdr.LedgerEntryChange>>
}

export interface Done {
  readonly verdict: Verdict
  readonly meta: string
}

/** Codes of transactions that do not use their sequence: they should not have been in the ledger. */
const unused: ReadonlySet<string> = new Set([
  "txTooEarly",
  "txTooLate",
  "txMissingOperation",
  "txMalformed",
  "txNoAccount",
  "txBadSeq"
])

const { OperationResultTr: tr, InvokeHostFunctionResult: results } = xdr

const ended = (result: Xdr.InvokeHostFunctionResult): Applied => ({
  result: xdr.OperationResult.opInner(tr.invokeHostFunction(result)),
  isSuccess: result.type === "invokeHostFunctionSuccess"
})

const isArchived = (reads: Reads): boolean => {
  const entry = reads.get(keyOf.counter)
  return entry?.kind === "counter" && entry.isArchived
}

const restoreCounter = (changes: Changes): void => {
  const entry = changes.get(keyOf.counter)
  if (entry?.kind === "counter") changes.set(keyOf.counter, { ...entry, isArchived: false })
}

const resourcesOf = ({ transaction }: Envelope) =>
  transaction.ext.type === "sorobanData" ? transaction.ext.sorobanData : undefined

const invoke = (
  op: Xdr.InvokeHostFunctionOp,
  source: string,
  envelope: Envelope,
  { changes, ledger }: Context,
  passphrase: string,
  trace: Trace
): Applied => {
  const data = resourcesOf(envelope)
  if (data === undefined || data.resources.instructions < callInstructions) {
    return ended(results.invokeHostFunctionResourceLimitExceeded())
  }
  if (data.resourceFee < callCost.nonRefundable + callCost.refundable) {
    return ended(results.invokeHostFunctionInsufficientRefundableFee())
  }
  const succeed = (value: Xdr.ScVal): Applied => {
    trace.value = value
    const image = new xdr.InvokeHostFunctionSuccessPreImage({ returnValue: value, events: [] })
    return ended(results.invokeHostFunctionSuccess(sha256(image.toXdr())))
  }
  const { hostFunction, auth } = op
  if (hostFunction.type !== "hostFunctionTypeInvokeContract") return succeed(xdr.ScVal.scvVoid())
  const call = callOf(hostFunction.invokeContract)
  if (needsCounter(call) && isArchived(changes)) {
    if (data.ext.type !== "resourceExt" || data.ext.resourceExt.archivedSorobanEntries.length === 0) {
      return ended(results.invokeHostFunctionEntryArchived())
    }
    if (data.resourceFee < callCost.nonRefundable + callCost.refundable + restoreCost) {
      return ended(results.invokeHostFunctionInsufficientRefundableFee())
    }
    restoreCounter(changes)
  }
  const ran = run(call, changes, passphrase, ledger)
  const at = { source, passphrase, ledger }
  const trap = (error: string): Applied => {
    trace.error = error
    return ended(results.invokeHostFunctionTrapped())
  }
  if (!ran.isSuccess) return trap(ran.error)
  if (!ran.needed.every((needed) => takeGrant(needed, auth, at, changes))) return trap("an authorization is missing")
  return ran.write(changes) ? succeed(ran.value) : trap("the balance or the allowance is too low")
}

const restore = ({ changes }: Context): Applied => {
  restoreCounter(changes)
  const result = tr.restoreFootprint(xdr.RestoreFootprintResult.restoreFootprintSuccess())
  return { result: xdr.OperationResult.opInner(result), isSuccess: true }
}

const operate = (
  operation: Xdr.Operation,
  envelope: Envelope,
  context: Context,
  passphrase: string,
  trace: Trace
): Applied => {
  const unsigned = unsignedResult(operation, envelope, context.changes, new Signatures(envelope.inner), true)
  if (unsigned !== undefined) return { result: unsigned, isSuccess: false }
  const source = sourceOfOperation(operation, envelope)
  const { body } = operation
  if (body.type === "invokeHostFunction") {
    return invoke(body.invokeHostFunctionOp, source, envelope, context, passphrase, trace)
  }
  if (body.type === "restoreFootprint") return restore(context)
  if (body.type === "extendFootprintTtl") {
    const result = tr.extendFootprintTtl(xdr.ExtendFootprintTtlResult.extendFootprintTtlSuccess())
    return { result: xdr.OperationResult.opInner(result), isSuccess: true }
  }
  return applyClassic(context, source, body) ?? { result: xdr.OperationResult.opNotSupported(), isSuccess: false }
}

/** All operations are tried, and none has an effect if one fails. */
const applyOperations = (envelope: Envelope, below: Changes, closing: Closing, trace: Trace): Outcome => {
  const context: Context = { changes: new Changes(below), ledger: closing.ledger, sponsors: new Map() }
  const applied = envelope.transaction.operations.map((operation) => {
    const changes = new Changes(context.changes)
    const one = operate(operation, envelope, { ...context, changes }, closing.passphrase, trace)
    const changed = accountChanges(context.changes, changes, closing.ledger)
    if (one.isSuccess) changes.mergeInto(context.changes)
    return { ...one, changed }
  })
  const operations = applied.map(({ result }) => result)
  if (!applied.every(({ isSuccess }) => isSuccess)) return { code: "txFailed", operations }
  if (context.sponsors.size > 0) return { code: "txBadSponsorship" }
  context.changes.mergeInto(below)
  trace.operations = applied.map(({ changed }) => changed)
  return { code: "txSuccess", operations }
}

const consume = ({ source, sequence }: Envelope, changes: Changes, { ledger, closeTime }: Closing): void => {
  const account = accountIn(changes, source)
  if (account !== undefined) {
    changes.setAccount({ ...account, sequence, seqLedger: ledger, seqTime: BigInt(closeTime) })
  }
}

/** The part of the declared resource fee that was not used goes back to the account that paid it. */
const refund = (envelope: Envelope, changes: Changes, charged: bigint, succeeded: boolean): bigint => {
  if (!envelope.isSoroban || envelope.resourceFee <= callCost.nonRefundable) return charged
  const refundable = envelope.resourceFee - callCost.nonRefundable
  const used = succeeded && refundable > callCost.refundable ? callCost.refundable : 0n
  const payer = accountIn(changes, feeSourceOf(envelope))
  if (payer === undefined) return charged
  changes.setAccount({ ...payer, balance: payer.balance + refundable - used })
  return charged - (refundable - used)
}

const diagnosis = (error: string): Xdr.DiagnosticEvent =>
  new xdr.DiagnosticEvent({
    inSuccessfulContractCall: false,
    event: new xdr.ContractEvent({
      ext: xdr.ExtensionPoint.v0(),
      contractId: null,
      type: xdr.ContractEventType.diagnostic,
      body: xdr.ContractEventBody.v0(
        new xdr.ContractEventV0({
          topics: [xdr.ScVal.scvSymbol("error"), xdr.ScVal.scvError(xdr.ScError.sceContract(1))],
          data: xdr.ScVal.scvString(error)
        })
      )
    })
  })

const metaOf = ({ isSoroban }: Envelope, { value, error, operations = [] }: Trace): string =>
  xdr.TransactionMeta.v4(
    new xdr.TransactionMetaV4({
      ext: xdr.ExtensionPoint.v0(),
      txChangesBefore: [],
      operations: operations.map(
        (changes) => new xdr.OperationMetaV2({ ext: xdr.ExtensionPoint.v0(), changes, events: [] })
      ),
      txChangesAfter: [],
      sorobanMeta: isSoroban
        ? new xdr.SorobanTransactionMetaV2({ ext: xdr.SorobanTransactionMetaExt.v0(), returnValue: value ?? null })
        : null,
      events: [],
      diagnosticEvents: error === undefined ? [] : [diagnosis(error)]
    })
  ).toXdr("base64")

/** `charged`: the fee that was taken from the payer when the ledger began. */
export const applyTransaction = (envelope: Envelope, changes: Changes, closing: Closing, charged: bigint): Done => {
  const trace: Trace = {}
  const time = { lower: closing.closeTime, upper: closing.closeTime }
  const early = checkApplied(envelope, { reads: changes, ledger: closing.ledger, closeTime: time })
  if (!unused.has(early.code)) consume(envelope, changes, closing)
  const outcome = early.code === "txSuccess" ? applyOperations(envelope, changes, closing, trace) : early
  const feeCharged = refund(envelope, changes, charged, outcome.code === "txSuccess")
  const { bump, inner } = envelope
  const verdict: Verdict =
    bump === undefined
      ? { outcome, feeCharged }
      : { outcome: { code: "txSuccess", operations: [] }, inner: { hash: inner.bytes, outcome }, feeCharged }
  return { verdict, meta: metaOf(envelope, trace) }
}
