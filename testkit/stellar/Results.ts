// Results of transactions, as plain data and as XDR.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { xdr } from "@stellar/stellar-sdk/base"

/** The codes without results of operations. */
export type Refusal = Exclude<Xdr.InnerTransactionResultResultVariantName, "txSuccess" | "txFailed">

export type Outcome =
  | { readonly code: "txSuccess" | "txFailed"; readonly operations: ReadonlyArray<Xdr.OperationResult> }
  | { readonly code: Refusal }

/** What became of an envelope. `inner` is present for fee bumps whose own checks passed. */
export interface Verdict {
  readonly outcome: Outcome
  readonly inner?: { readonly hash: Uint8Array; readonly outcome: Outcome }
  readonly feeCharged: bigint
}

/** Whether the envelope, and the envelope inside of a fee bump, succeeded. */
export const isSuccess = ({ outcome, inner }: Verdict): boolean => (inner?.outcome ?? outcome).code === "txSuccess"

const innerOf = (outcome: Outcome): Xdr.InnerTransactionResultResult => {
  if ("operations" in outcome) return xdr.InnerTransactionResultResult[outcome.code]([...outcome.operations])
  return xdr.InnerTransactionResultResult[outcome.code]()
}

const outerOf = ({ outcome, inner }: Verdict): Xdr.TransactionResultResult => {
  if (inner !== undefined) {
    const pair = new xdr.InnerTransactionResultPair({
      transactionHash: inner.hash,
      result: new xdr.InnerTransactionResult({
        // The fee is charged to the source of the fee bump.
        feeCharged: 0n,
        result: innerOf(inner.outcome),
        ext: xdr.InnerTransactionResultExt.v0()
      })
    })
    return inner.outcome.code === "txSuccess"
      ? xdr.TransactionResultResult.txFeeBumpInnerSuccess(pair)
      : xdr.TransactionResultResult.txFeeBumpInnerFailed(pair)
  }
  if ("operations" in outcome) return xdr.TransactionResultResult[outcome.code]([...outcome.operations])
  return xdr.TransactionResultResult[outcome.code]()
}

/** `TransactionResult` in base64. */
export const resultXdr = (verdict: Verdict): string =>
  new xdr.TransactionResult({
    feeCharged: verdict.feeCharged,
    result: outerOf(verdict),
    ext: xdr.TransactionResultExt.v0()
  }).toXdr("base64")

/** A code of a protocol that the library does not know. */
export interface UnknownCode {
  readonly of: "transaction" | "operation"
  readonly code: number
}

/** Bytes of a result: the fee, its code, the number of results of operations; of these, the code and the type come first. */
const at = { transaction: 8, operation: 24 } as const

/** A result with another code: its own, or that of its first operation. It has no fee bump. */
export const withCode = (result: string, { code, of }: UnknownCode): string => {
  const bytes = Buffer.from(result, "base64")
  bytes.writeInt32BE(code, at[of])
  return bytes.toString("base64")
}
