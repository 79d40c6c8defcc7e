// Results of transactions as plain data.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import type { NodeAnswer } from "../../../domain/transaction/stellar/QueueAnswer.ts"
import type { RpcAnswer } from "../RpcBatch.ts"
import { decodeSent } from "./StellarCalls.ts"
import type { Library } from "./StellarLibrary.ts"

export interface Result {
  /** Such as `txSuccess` or `txBadSeq`. */
  readonly code: string
  /** Belongs to the transaction inside of a fee bump. */
  readonly inner?: string
  /** Stroops that were charged. Of `txInsufficientFee`: the fee that a node asks for. */
  readonly fee: bigint
  /** One per operation, such as `paymentUnderfunded`. Empty if none was applied. */
  readonly operations: ReadonlyArray<string>
}

const operationOf = (result: Xdr.OperationResult): string =>
  result.type === "opInner" ? result.tr.value.type : result.type

const operationsIn = (result: Xdr.TransactionResultResult | Xdr.InnerTransactionResultResult): ReadonlyArray<string> =>
  "results" in result ? result.results.map(operationOf) : []

/** Undefined: it is no XDR of a result. */
export const resultIn = ({ xdr }: Library, text: string): Result | undefined => {
  try {
    const { feeCharged, result } = xdr.TransactionResult.fromXdr(text, "base64")
    if (result.type === "txFeeBumpInnerSuccess" || result.type === "txFeeBumpInnerFailed") {
      const inner = result.innerResultPair.result.result
      return { code: result.type, inner: inner.type, fee: feeCharged, operations: operationsIn(inner) }
    }
    return { code: result.type, fee: feeCharged, operations: operationsIn(result) }
  } catch {
    return undefined
  }
}

/** The server could not read the envelope (JSON-RPC 2.0, invalid parameters). */
const invalidParams = -32_602

/** `hash`: of the envelope that was sent. An answer about another one says nothing about it. */
export const answerOf = (lib: Library, answer: RpcAnswer, hash: string): NodeAnswer => {
  if (answer._tag === "RpcError" && answer.code === invalidParams) return { status: "INVALID" }
  const sent = answer._tag === "Result" ? decodeSent(answer.value) : undefined
  if (sent === undefined || sent._tag === "None" || sent.value.hash !== hash) return { status: "UNKNOWN" }
  const { errorResultXdr, status } = sent.value
  if (status !== "ERROR") return { status }
  const result = errorResultXdr === undefined ? undefined : resultIn(lib, errorResultXdr)
  if (result === undefined) return { status: "UNKNOWN" }
  const { code, fee, inner } = result
  return { status, result: code, fee, ...(inner === undefined ? {} : { inner }) }
}
