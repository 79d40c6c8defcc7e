// Results of transactions as plain data.
import type { xdr as Xdr } from "@stellar/stellar-sdk/base"
import { Result as Outcome } from "effect"
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

const isBump = (code: string): boolean => code === "txFeeBumpInnerSuccess" || code === "txFeeBumpInnerFailed"

const wholeIn = ({ xdr }: Library, text: string): Result => {
  const { feeCharged, result } = xdr.TransactionResult.fromXdr(text, "base64")
  if (result.type === "txFeeBumpInnerSuccess" || result.type === "txFeeBumpInnerFailed") {
    const inner = result.innerResultPair.result.result
    return { code: result.type, inner: inner.type, fee: feeCharged, operations: operationsIn(inner) }
  }
  return { code: result.type, fee: feeCharged, operations: operationsIn(result) }
}

const optional = <A>(read: () => A): A | undefined => Outcome.getOrUndefined(Outcome.try(read))

/** Bytes of the parts of a result, in their order (`TransactionResult`, `InnerTransactionResultPair` and `OperationResult`). */
const size = { fee: 8, code: 4, hash: 32 } as const

const codeAt = ({ xdr }: Library, bytes: Buffer, offset: number): string => {
  const code = bytes.readInt32BE(offset)
  return optional(() => xdr.TransactionResultCode.fromValue(code).name) ?? `txUnknown(${code})`
}

/** The name of an operation's result that the library cannot read: the raw codes are shown. */
const unknownOperation = ({ xdr }: Library, bytes: Buffer, offset: number): string => {
  const code = bytes.readInt32BE(offset)
  if (code !== 0) return `opUnknown(${code})`
  const type = bytes.readInt32BE(offset + size.code)
  const name = optional(() => xdr.OperationType.fromValue(type).name) ?? `operation${type}`
  return `${name}Unknown(${bytes.readInt32BE(offset + 2 * size.code)})`
}

/** Results of operations up to the first one that the library cannot read: where that one ends is not known. */
const operationsFrom = (lib: Library, bytes: Buffer, start: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  let offset = start + size.code
  for (let left = bytes.readUInt32BE(start); left > 0; left--) {
    let end = offset + size.code
    const read = () => optional(() => lib.xdr.OperationResult.fromXdr(bytes.subarray(offset, end)))
    let one = read()
    while (one === undefined && end < bytes.length) {
      end += size.code
      one = read()
    }
    if (one === undefined) return [...found, unknownOperation(lib, bytes, offset)]
    found.push(operationOf(one))
    offset = end
  }
  return found
}

const withOperations: ReadonlySet<string> = new Set(["txSuccess", "txFailed"])

/** What a result says before the first code that the library does not know, such as one of a later protocol. */
const partIn = (lib: Library, text: string): Result => {
  const bytes = Buffer.from(text, "base64")
  const fee = bytes.readBigInt64BE(0)
  const code = codeAt(lib, bytes, size.fee)
  const start = isBump(code) ? size.fee + size.code + size.hash + size.fee : size.fee
  const inner = codeAt(lib, bytes, start)
  const operations = withOperations.has(inner)
    ? (optional(() => operationsFrom(lib, bytes, start + size.code)) ?? [])
    : []
  return { code, fee, operations, ...(isBump(code) ? { inner } : {}) }
}

/** Undefined: it is too short to have a code. Codes that the library does not know are shown as they are: `txUnknown(-42)`. */
export const resultIn = (lib: Library, text: string): Result | undefined =>
  optional(() => wholeIn(lib, text)) ?? optional(() => partIn(lib, text))

/** The server could not read the envelope (JSON-RPC 2.0, invalid parameters). */
const invalidParams = -32_602

/**
 * How stellar-rpc answers if stellar-core says FILTERED, a status that it does not know: validators do not take transactions of one of the
 * accounts.
 */
const isFiltered = (answer: RpcAnswer): boolean =>
  answer._tag === "RpcError" && answer.code === -32_603 && answer.message.includes("invalid status from stellar-core")

/** `hash`: of the envelope that was sent. An answer about another one says nothing about it. */
export const answerOf = (lib: Library, answer: RpcAnswer, hash: string): NodeAnswer => {
  if (answer._tag === "RpcError" && answer.code === invalidParams) return { status: "INVALID" }
  if (isFiltered(answer)) return { status: "FILTERED" }
  const sent = answer._tag === "Result" ? decodeSent(answer.value) : undefined
  if (sent === undefined || sent._tag === "None" || sent.value.hash !== hash) return { status: "UNKNOWN" }
  const { errorResultXdr, status } = sent.value
  if (status !== "ERROR") return { status }
  const result = errorResultXdr === undefined ? undefined : resultIn(lib, errorResultXdr)
  if (result === undefined) return { status: "UNKNOWN" }
  const { code, fee, inner } = result
  return { status, result: code, fee, ...(inner === undefined ? {} : { inner }) }
}
